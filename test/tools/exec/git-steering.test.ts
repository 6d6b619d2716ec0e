import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { compileRow } from "../../../src/tools/exec/rules/rows.ts";
import { submodulesIn } from "../../../src/tools/host/repository/git-index.ts";
import { runTool } from "../../../src/tools/run.ts";
import { createTools } from "../../kit/create-tools.ts";
import { agentSettings, noRules, textOf, toolContext } from "../../kit/tools.ts";
import { has } from "../sandbox/fixture.ts";

let home: string;
/** A repository with one commit, in the workspace. */
let repository: string;
let workspace: string;
/** What a program makes that no command named. */
let proof: string;

const sh = (script: string, cwd = repository): void => {
  execFileSync("/bin/sh", ["-c", script], { cwd, stdio: "pipe", env: { ...GIT, HOME: home, P: proof } });
};
const GIT = {
  PATH: "/usr/bin:/bin",
  GIT_AUTHOR_NAME: "a",
  GIT_AUTHOR_EMAIL: "a@b.c",
  GIT_COMMITTER_NAME: "a",
  GIT_COMMITTER_EMAIL: "a@b.c",
};

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "steering-")));
  workspace = join(home, "workspace");
  repository = join(workspace, "r");
  proof = join(home, "proof");
  mkdirSync(repository, { recursive: true });
  vi.stubEnv("HOME", home);
  if (!has("git")) return;
  sh(
    "git init -q -b main && git config user.email a@b.c && git config user.name a && echo 1 > f && git add f && git commit -qm one",
  );
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true });
});

const append = (name: string, text: string): void => {
  const path = join(repository, name);
  mkdirSync(dirname(path), { recursive: true });
  appendFileSync(path, text);
};
const config = (text: string, name = ".git/config") => append(name, text.replaceAll("PROOF", proof));
const hook = (name: string): void => {
  append(name, `#!/bin/sh\ntouch ${proof}\n`);
  sh(`chmod +x ${name}`);
};
const FSMONITOR = '[core]\n\tfsmonitor = "touch PROOF; true"\n';

/** What the tool says of a command that a row for `git` allows, and what was asked. */
async function run(command: string, { cwd = "r", pattern = "git" } = {}) {
  const asked: string[] = [];
  const settings = agentSettings(workspace, { exec: { security: "allowlist", ask: "on-miss" } });
  const rules = { ...noRules, policy: async () => ({ rows: [compileRow({ pattern })] }) };
  const exec = createTools({ settings, rules, rights: "owner", deniedPaths: [] }).find(({ name }) => name === "exec");
  const ask = async ({ reason, allowance }: { readonly reason: string; readonly allowance?: string }) => {
    asked.push(reason);
    expect(allowance).toBeUndefined();
    return "deny" as const;
  };
  const result = await runTool(exec!, { command, cwd }, { ...toolContext(workspace), approvals: { ask } });
  return { asked, said: textOf(result) };
}

type Case = readonly [what: string, why: string, command: string, prepare: () => void, cwd?: string];

const CASES: readonly Case[] = [
  ["a setting", "core.fsmonitor in", "git status", () => config(FSMONITOR)],
  ["an alias", "alias.xx in", "git xx", () => config("[alias]\n\txx = !touch PROOF\n")],
  [
    "settings from a subdirectory",
    "core.fsmonitor in",
    "git status",
    () => (sh("mkdir sub"), config(FSMONITOR)),
    "r/sub",
  ],
  [
    "a program for differences",
    "diff.external in",
    "git diff",
    () => (sh("echo 2 > f"), config('[diff]\n\texternal = "touch PROOF; true"\n')),
  ],
  [
    "a filter of the attributes",
    "filter.clean in",
    "git add g",
    () => (
      sh("echo '* filter=x' > .gitattributes; echo 1 > g"),
      config('[filter "x"]\n\tclean = "touch PROOF; cat"\n')
    ),
  ],
  [
    "settings that others include",
    "include.path in",
    "git status",
    () => (config(FSMONITOR, "more"), config("[include]\n\tpath = ../more\n")),
  ],
  [
    "a setting on the line of its section",
    "a line that is not understood",
    "git status",
    () => config('[core] fsmonitor = "touch PROOF; true"\n'),
  ],
  ["a hook", "the hook post-checkout", "git checkout -q -B other", () => hook(".git/hooks/post-checkout")],
  [
    "hooks in another directory",
    "core.hooksPath in",
    "git checkout -q -B other",
    () => (hook("own/post-checkout"), config("[core]\n\thooksPath = own\n")),
  ],
  [
    "a file that leads to another repository",
    "core.fsmonitor in",
    "git status",
    () => (sh("mkdir w && git init -q --separate-git-dir=gd w"), config(FSMONITOR, "gd/config")),
    "r/w",
  ],
  [
    "a repository without a working tree",
    "alias.xx in",
    "git xx",
    () => (sh("git init -q --bare bare"), config("[alias]\n\txx = !touch PROOF\n", "bare/config")),
    "r/bare",
  ],
  [
    "a directory that only looks like a repository below a real one",
    "core.fsmonitor in",
    "git status",
    () => (sh("mkdir -p sub/.git"), config(FSMONITOR)),
    "r/sub",
  ],
  [
    "the settings that a working tree shares",
    "core.fsmonitor in",
    "git status",
    () => (sh("git worktree add -q ../tree"), config(FSMONITOR)),
    "tree",
  ],
  [
    "the settings of a submodule",
    "core.fsmonitor in",
    "git status",
    () => (
      sh("git init -q s && git -C s commit -q --allow-empty -m s && git add s 2>/dev/null"),
      config(FSMONITOR, "s/.git/config")
    ),
  ],
  [
    "the settings of a submodule in an index of version 4",
    "core.fsmonitor in",
    "git status",
    () => (
      sh(
        "git init -q s && git -C s commit -q --allow-empty -m s && git add s 2>/dev/null && git update-index --index-version 4",
      ),
      config(FSMONITOR, "s/.git/config")
    ),
  ],
  [
    "the settings of a submodule in a split index",
    "core.fsmonitor in",
    "git status",
    () => (
      sh(
        "git init -q s && git -C s commit -q --allow-empty -m s && git add s 2>/dev/null && git update-index --split-index",
      ),
      config(FSMONITOR, "s/.git/config")
    ),
  ],
  [
    "the hooks of a repository that it sends to",
    "a repository on this machine",
    "git push -q e HEAD:refs/heads/z",
    () => (sh("git init -q --bare e.git"), hook("e.git/hooks/post-receive")),
  ],
  [
    "the hooks of a remote on this machine",
    "a repository on this machine",
    "git push -q origin HEAD:refs/heads/z",
    () => (sh("git init -q --bare e.git && git remote add origin ./e.git"), hook("e.git/hooks/post-receive")),
  ],
  [
    "the hooks of a repository that a branch names",
    "a repository on this machine",
    "git push -q",
    () => {
      sh("git init -q --bare e.git");
      hook("e.git/hooks/post-receive");
      config('[branch "main"]\n\tremote = e.git\n\tmerge = refs/heads/main\n[push]\n\tdefault = upstream\n');
    },
  ],
  [
    "a step of a rebase, behind an alias of the user",
    "a step of the rebase",
    "git go-on",
    () => {
      writeFileSync(join(home, ".gitconfig"), "[alias]\n\tgo-on = rebase --continue\n");
      sh(
        "git commit -q --allow-empty -m two; GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i HEAD~1 2>/dev/null",
      );
      writeFileSync(join(repository, ".git/rebase-merge/git-rebase-todo"), `exec touch ${proof}\n`);
    },
  ],
  [
    "a step of a rebase",
    "a step of the rebase",
    "git rebase --continue",
    () => {
      sh(
        "git commit -q --allow-empty -m two; GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i HEAD~1 2>/dev/null",
      );
      writeFileSync(join(repository, ".git/rebase-merge/git-rebase-todo"), `exec touch ${proof}\n`);
    },
  ],
];

describe.skipIf(!has("git"))("a command that a row for git allows", () => {
  it.each(CASES.map(([what, why, command, prepare, cwd = "r"]) => ({ what, why, command, prepare, cwd })))(
    "is asked about when the repository makes it start a program: $what",
    async ({ why, command, prepare, cwd }) => {
      prepare();
      const { asked, said } = await run(command, { cwd });
      expect(asked).toEqual([expect.stringContaining(why)]);
      expect(said).toContain("A person refused");
      expect(existsSync(proof)).toBe(false);
      // Without the question the program would have run.
      try {
        sh(command, join(workspace, cwd));
      } catch {
        // Git itself may fail after that.
      }
      expect(existsSync(proof)).toBe(true);
    },
  );

  const ELSEWHERE: readonly (readonly [command: string, prepare: () => void, cwd?: string])[] = [
    ["git status", () => undefined],
    ["git status", () => sh("mkdir sub"), "r/sub"],
    ["git log --oneline", () => config("[pull]\n\trebase = true\n[core]\n\tautocrlf = input\n")],
    [
      "git status",
      () =>
        config('[remote "origin"]\n\turl = git@example.org:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'),
    ],
    ["git remote -v", () => config('[remote "origin"]\n\turl = https://example.org/a/b.git\n')],
    ["git status", () => sh("git init -q s && git -C s commit -q --allow-empty -m s && git add s 2>/dev/null")],
    ["git status", () => sh("mkdir own && git init -q own/n && git -C own/n config core.fsmonitor x")],
    ["git checkout -q -B other", () => append(".git/hooks/post-checkout", "not executable")],
    ["git --version", () => rmSync(join(repository, ".git"), { recursive: true })],
  ];
  it.each(ELSEWHERE.map(([command, prepare, cwd = "r"]) => ({ command, prepare, cwd })))(
    "is not asked about elsewhere: $command",
    async ({ command, prepare, cwd }) => {
      prepare();
      const { asked, said } = await run(command, { cwd });
      expect(asked).toEqual([]);
      expect(said).toContain("[exit code 0]");
    },
  );

  it("is asked about again when the settings change while the question waits", async () => {
    config("[alias]\n\txx = !true\n");
    const asked: string[] = [];
    const settings = agentSettings(workspace, { exec: { security: "allowlist", ask: "on-miss" } });
    const exec = createTools({ settings, rules: noRules, rights: "owner", deniedPaths: [] }).find(
      ({ name }) => name === "exec",
    );
    sh("mkdir sub");
    const ask = async ({ reason }: { readonly reason: string }) => {
      asked.push(reason);
      if (asked.length === 1) config("[alias]\n\txx = !touch PROOF\n");
      return asked.length === 1 ? ("allow-once" as const) : ("deny" as const);
    };
    await runTool(exec!, { command: "git xx", cwd: "r/sub" }, { ...toolContext(workspace), approvals: { ask } });
    expect(asked).toEqual([
      expect.stringContaining("alias.xx in"),
      expect.stringContaining("Changed since the last question: git"),
    ]);
    expect(existsSync(proof)).toBe(false);
  });

  it("shows a person no name that could be read as something else", async () => {
    writeFileSync(join(repository, ".git-x"), "");
    sh("mkdir w && git init -q --separate-git-dir='g`\u202Ed' w");
    config(FSMONITOR, "g`\u202Ed/config");
    const { asked } = await run("git status", { cwd: "r/w" });
    expect(asked).toEqual([expect.stringContaining("core.fsmonitor in a file with an odd name")]);
  });
});

describe("a command of Mercurial", () => {
  it("is asked about where the repository has settings", async () => {
    mkdirSync(join(workspace, "r/.hg"), { recursive: true });
    writeFileSync(join(workspace, "r/.hg/hgrc"), "[alias]\nst = !x\n");
    const bin = join(home, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "hg"), "#!/bin/sh\n", { mode: 0o755 });
    const { asked } = await run(`${bin}/hg status`, { pattern: `${bin}/hg` });
    expect(asked).toEqual([expect.stringContaining(".hg/hgrc")]);
  });
});

it.each([
  ["nothing", ""],
  ["another file", "PK\u0003\u0004 and more than twelve bytes"],
  ["a later version", "DIRC\0\0\0\u0009\0\0\0\0"],
  ["fewer entries than it says", "DIRC\0\0\0\u0002\0\0\0\u0001"],
])("an index with %s is not understood", (_what, text) => {
  expect(submodulesIn(Buffer.from(text, "latin1"))).toBeUndefined();
});
