import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { isHarmless } from "../../../src/tools/host/repository/git-settings.ts";
import { has, openGround, whyNoBwrap, type Ground } from "./fixture.ts";

const why = has("git") ? whyNoBwrap : "Git is not installed";

describe.skipIf(why !== undefined)(`what a sandboxed command leaves for Git outside (${why ?? "both work"})`, () => {
  let ground: Ground;
  let proof: string;
  beforeEach(() => {
    ground = openGround();
    proof = join(ground.home, "outside/proof");
    vi.stubEnv("HOME", ground.home);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    ground.close();
  });

  /** Git outside, as a person uses it; it may fail. */
  const git = (dir: string, ...args: readonly string[]): string => {
    const env = { PATH: process.env["PATH"], HOME: ground.home };
    try {
      return execFileSync("git", ["-C", join(ground.workspace, dir), ...args], {
        env,
        encoding: "utf8",
        stdio: "pipe",
      });
    } catch {
      // There is no repository any more; what matters is what ran.
      return "";
    }
  };
  const aside = (): readonly string[] => {
    const dir = join(ground.workspace, ".openclaw/set-aside");
    return existsSync(dir) ? readdirSync(dir).flatMap((name) => readdirSync(join(dir, name))) : [];
  };
  /** Settings that make Git run a program; `true` stands for the answer that it expects of it. */
  const evil = (): string => `printf '[core]\\n\\tfsmonitor = "touch ${proof}; true"\\n' >`;
  const repository = "mkdir -p $R/objects $R/refs; echo 'ref: refs/heads/main' > $R/HEAD";

  it.each([
    ["a new repository", ".", "git init -q . && cat evil >> .git/config"],
    ["one in a subdirectory", "a/b", "git init -q a/b && cat evil >> a/b/.git/config"],
    ["one that is moved into its place", "a", "git init -q a; mv a/.git a/x; cat evil >> a/x/config; mv a/x a/.git"],
    ["a bare layout", "bare", `R=bare; ${repository}; cp evil bare/config`],
    ["a bare layout at the top", ".", `R=.; ${repository}; cp evil config`],
    [
      "a file that leads to another directory",
      "a",
      `R=b; ${repository}; cp evil b/config; mkdir a; echo 'gitdir: ../b' > a/.git`,
    ],
    ["a link to another directory", "a", `R=b; ${repository}; cp evil b/config; mkdir a; ln -s ../b a/.git`],
    ["settings that are a link", "a", "git init -q a; cp evil e; ln -sf ../../e a/.git/config"],
    [
      "settings that others include",
      "a",
      "git init -q a; cp evil e; printf '[include]\\npath = ../../e\\n' >> a/.git/config",
    ],
    [
      "settings that begin on a section's line",
      "a",
      `git init -q a; printf '[core] fsmonitor = "touch ${"$P"}; true"\\n' >> a/.git/config`,
    ],
  ])("%s cannot make it run a program", async (_what, dir, command) => {
    const { code, note } = await ground.run(`${evil()} evil; P=${proof}; ${command}`);
    expect(code).toBe(0);
    expect(note).toMatch(/Moved to \.openclaw\/set-aside/);
    git(dir, "status");
    expect(existsSync(proof)).toBe(false);
    expect(aside()).not.toEqual([]);
  });

  it("runs the program of the attack where nobody looks after it, so that the test above can fail", () => {
    execFileSync("/bin/sh", ["-c", `git init -q . && ${evil()}> .git/config`], { cwd: ground.workspace });
    git(".", "status");
    expect(existsSync(proof)).toBe(true);
  });

  it("cannot reach the settings of a repository by `commondir`, nor those of a working tree", async () => {
    execFileSync("git", ["init", "-q", ground.workspace]);
    const { note } = await ground.run(
      `R=b; ${repository}; ${evil()} b/config; echo ../b > .git/commondir; cp b/config .git/config.worktree`,
    );
    expect(note).toMatch(/commondir.*config\.worktree|config\.worktree.*commondir/);
    git(".", "status");
    expect(existsSync(proof)).toBe(false);
  });

  it("cannot leave a hook, also not in a repository that was there", async () => {
    execFileSync("git", ["init", "-q", join(ground.workspace, "there")]);
    const hook = `printf '#!/bin/sh\\ntouch ${proof}\\n'`;
    const script = ["there", "made"].map(
      (dir) => `${hook} > ${dir}/.git/hooks/post-commit; chmod +x ${dir}/.git/hooks/*`,
    );
    const { note } = await ground.run(`git init -q made; ${script.join("; ")}`);
    expect(note).toContain("there/.git/hooks/post-commit");
    for (const dir of ["there", "made"])
      git(dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x");
    expect(git("there", "log", "--oneline")).toContain("x");
    expect(existsSync(proof)).toBe(false);
  });

  it("cannot leave a command among the steps of a rebase, and may use one in its own rebase", async () => {
    execFileSync("git", ["init", "-q", "-b", "main", ground.workspace]);
    const commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m";
    const steps = ".git/rebase-merge/git-rebase-todo";
    const own = await ground.run(
      `${commit} 1; ${commit} 2; git -c user.name=a -c user.email=a@b rebase -q --exec 'echo ran' HEAD~1`,
    );
    expect([own.output.text, own.note]).toEqual([expect.stringContaining("ran"), undefined]);
    const { note } = await ground.run(
      `GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i HEAD~1; echo "exec touch ${proof}" > ${steps}`,
    );
    expect(note).toContain(steps);
    git(".", "rebase", "--continue");
    expect(existsSync(proof)).toBe(false);
  });

  it("cannot change the hooks of a directory that the repository's settings name", async () => {
    execFileSync("git", ["init", "-q", ground.workspace]);
    execFileSync("git", ["-C", ground.workspace, "config", "core.hooksPath", "tools/hooks"]);
    mkdirSync(join(ground.workspace, "tools/hooks"), { recursive: true });
    writeFileSync(join(ground.workspace, "tools/hooks/post-commit"), "#!/bin/sh\n", { mode: 0o755 });
    await ground.run(
      `echo 'touch ${proof}' >> tools/hooks/post-commit; cp tools/hooks/post-commit tools/hooks/post-merge`,
    );
    git(".", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x");
    expect(existsSync(proof)).toBe(false);
    expect(readdirSync(join(ground.workspace, "tools/hooks"))).toEqual(["post-commit"]);
  });

  it("cannot change what a link leads to that programs outside obey, nor put something else in its place", async () => {
    mkdirSync(join(ground.workspace, "dotfiles/editor"), { recursive: true });
    for (const file of ["dotfiles/bashrc", "dotfiles/editor/tasks.json"])
      writeFileSync(join(ground.workspace, file), "as it was");
    symlinkSync("dotfiles/bashrc", join(ground.workspace, ".bashrc"));
    symlinkSync("dotfiles/editor", join(ground.workspace, ".vscode"));
    await ground.run("echo evil >> dotfiles/bashrc; echo evil > .bashrc; echo evil > .vscode/tasks.json");
    for (const file of [".bashrc", ".vscode/tasks.json"])
      expect(readFileSync(join(ground.workspace, file), "utf8")).toBe("as it was");
    const { note } = await ground.run("mv dotfiles old; mkdir dotfiles; echo evil > dotfiles/bashrc");
    expect(note).toContain(".bashrc");
    expect(existsSync(join(ground.workspace, ".bashrc"))).toBe(false);
  });

  it("keeps a repository that the command makes and works in, and the settings that a person made", async () => {
    execFileSync("git", ["init", "-q", join(ground.workspace, "there")]);
    const config = join(ground.workspace, "there/.git/config");
    writeFileSync(config, `${readFileSync(config, "utf8")}[filter "lfs"]\n\tclean = git-lfs clean -- %f\n`);
    const own = "git config user.name Ada; git config user.email ada@example.org";
    const { note, code } = await ground.run(
      `git init -q made && cd made && ${own} && echo 1 > a && git add a && git commit -qm first && cd ../there && ${own}`,
    );
    expect({ note, code }).toEqual({ note: undefined, code: 0 });
    expect(git("made", "log", "--oneline")).toContain("first");
    expect(readFileSync(config, "utf8")).toMatch(/git-lfs clean[^]*Ada/);
    expect((await ground.run("cd made && git log --oneline")).output.text).toContain("first");
  });

  it("takes away new files that shells and editors obey at the top of the workspace", async () => {
    const { note } = await ground.run(
      "echo x > .envrc; ln -s /etc/passwd .npmrc; mkdir .vscode; echo {} > .vscode/tasks.json; echo kept > note.txt",
    );
    for (const name of [".envrc", ".npmrc", ".vscode"]) {
      expect(note).toContain(name);
      expect(existsSync(join(ground.workspace, name))).toBe(false);
    }
    expect(readFileSync(join(ground.workspace, "note.txt"), "utf8")).toBe("kept\n");
    const { note: again } = await ground.run("cat .openclaw/set-aside/*/.envrc > out.txt; rm -rf .openclaw/set-aside");
    expect(again).toBeUndefined();
    expect(readFileSync(join(ground.workspace, "out.txt"), "utf8")).toBe("x\n");
    expect(aside()).toContain(".envrc");
  });

  it.each(["skills", "memory", ".openclaw"])("does not run while %s is a link that it could change", async (name) => {
    symlinkSync(join(ground.home, "outside"), join(ground.workspace, name));
    await expect(ground.run("true")).rejects.toThrow(/is a link/);
    expect(lstatSync(join(ground.workspace, name)).isSymbolicLink()).toBe(true);
  });

  /** In the shell of a sandbox, directories below `top` that are together deeper than any path. */
  const deep = (top: string): string =>
    `d=${"d".repeat(200)}; (mkdir ${top} && cd ${top} && for i in $(seq 40); do mkdir $d && cd -P $d || exit 1; done 2>/dev/null; true)`;

  it.each([
    ["directories too deep for a path", deep("new"), ["new"]],
    ["more directories than are looked at, at the top", "seq 20500 | xargs mkdir", []],
    [
      "a directory of the user that is deep by now",
      `mv there/src x; ${deep("there/src")}; mv x there/x`,
      ["d".repeat(150)],
    ],
    ["names of directories that are not UTF-8", `d="$(printf '\\377')"; mkdir "$d"; cd "$d"; git init -q .; cd ..`, []],
  ])("sees or moves away what it leaves beside %s, and the next command runs", async (_what, command, moved) => {
    execFileSync("git", ["init", "-q", join(ground.workspace, "there")]);
    mkdirSync(join(ground.workspace, "there/src/kept"), { recursive: true });
    const plant = (dir: string) => `mkdir -p ${dir}/.git/hooks; echo "touch ${proof}" > ${dir}/.git/hooks/pre-commit`;
    const { note, code } = await ground.run(
      `${command}; git init -q zz; cd ${ground.workspace}; ${plant("zz")}; ${plant("there")}; echo x > .bashrc`,
    );
    expect(code).toBe(0);
    expect(note).toContain("there/.git/hooks/pre-commit");
    expect(note).not.toMatch(/could not be checked/);
    expect(aside()).toEqual(expect.arrayContaining(["there~.git~hooks~pre-commit", ".bashrc", ...moved]));
    for (const dir of ["there", "zz"])
      expect(existsSync(join(ground.workspace, dir, ".git/hooks/pre-commit"))).toBe(false);
    expect(await ground.says("echo works")).toBe("works");
  });

  it("moves away a repository in a directory whose name is not UTF-8", async () => {
    const { note } = await ground.run(
      `d="$(printf '\\377')"; mkdir "$d"; git init -q "$d"; ${evil()} "$d/.git/config"`,
    );
    expect(note).toContain("/.git/config");
    expect(aside()).toHaveLength(1);
  });

  it.skipIf(process.getuid?.() === 0)(
    "looks into directories that the command has closed, and into none of the user",
    async () => {
      const { note } = await ground.run(`git init -q a/b; ${evil()} a/b/.git/config; chmod 0 a/b a`);
      expect(note).toContain("a/b/.git/config");
      mkdirSync(join(ground.workspace, "closed"), { mode: 0 });
      await expect(ground.run("true")).rejects.toThrow(/closed: it may not be read/);
    },
  );

  it("lets the file tools of the session write none of it", async () => {
    mkdirSync(join(ground.workspace, "bare"));
    writeFileSync(join(ground.workspace, "bare/HEAD"), "ref: refs/heads/main");
    const { files } = ground.backends();
    for (const path of [
      ".git/config",
      "a/.git/hooks/x",
      ".git",
      ".envrc",
      ".vscode/tasks.json",
      "bare/config",
      "bare/hooks/x",
    ])
      await expect(files.replace({ path, content: "x" }, ground.workspace)).rejects.toThrow(/obey it/);
    await files.replace({ path: "app/config", content: "x" }, ground.workspace);
    await expect(files.replace({ path: "app/HEAD", content: "x" }, ground.workspace)).rejects.toThrow(/obey it/);
  });
});

it.each([
  ["[core]\n\trepositoryformatversion = 0\n\tbare = false\n[user]\n\tname = Zoë O'Neil\n", true],
  ['[remote "origin"]\n\turl = https://example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n', true],
  ["[core]\n\tsshCommand = x\n", false],
  ["[core]\n\tbare = false \\\n\tfsmonitor = x\n", false],
  ["[core]\n\tbare = false # x\n", false],
  ["[alias]\n\tst = !x\n", false],
  ['[remote "o"]\n\turl = ext::sh -c x\n', false],
  ['[url "x"]\n\tinsteadOf = y\n', false],
  ["fsmonitor = x\n", false],
])("knows whether Git's settings %j run nothing", (config, harmless) => {
  expect(isHarmless(config)).toBe(harmless);
});

it("takes a setting from one section for no setting of another", () => {
  const before = "[mine]\n\tfsmonitor = x\n";
  expect(isHarmless(before, before)).toBe(true);
  expect(isHarmless("[core]\n\tfsmonitor = x\n", before)).toBe(false);
});
