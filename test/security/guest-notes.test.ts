import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { sandboxSettings } from "../../src/tools/sandbox/settings.ts";
import { bwrap } from "../tools/sandbox/real-backend.ts";
import { openPlace, type Person, type Place } from "./people.ts";

const SECRET = "the owner is in hospital";
const DAY = "memory/2026-05-05.md";

/** Where a trick is played: the workspace, and paths in it. */
class Ground {
  readonly workspace: string;
  readonly config: string;

  constructor(workspace: string, config: string) {
    this.workspace = workspace;
    this.config = config;
  }

  at = (path: string): string => join(this.workspace, path);

  put(path: string, text: string = SECRET): void {
    mkdirSync(dirname(this.at(path)), { recursive: true });
    writeFileSync(this.at(path), text);
  }

  run(script: string): void {
    execFileSync("/bin/sh", ["-ec", script], { cwd: this.workspace, stdio: "ignore", env: GIT });
  }
}

const GIT = {
  PATH: process.env["PATH"],
  HOME: "/nonexistent",
  GIT_AUTHOR_NAME: "a",
  GIT_AUTHOR_EMAIL: "a@example.org",
  GIT_COMMITTER_NAME: "a",
  GIT_COMMITTER_EMAIL: "a@example.org",
  GIT_CONFIG_COUNT: "2",
  GIT_CONFIG_KEY_0: "safe.directory",
  GIT_CONFIG_VALUE_0: "*",
  GIT_CONFIG_KEY_1: "protocol.file.allow",
  GIT_CONFIG_VALUE_1: "always",
};
const git = "git -c safe.directory='*'";

interface Trick {
  /** How the note's text comes to be in the workspace. */
  readonly how: string;
  plant(ground: Ground): void;
  /** A path with it, for the tools for files. */
  readonly path: string;
  /** The command that shows it; `cat` when unset. */
  readonly look?: string;
}

const named = (path: string): Trick => ({ how: `as ${path}`, path, plant: (ground) => ground.put(path) });

const TRICKS: readonly Trick[] = [
  { how: "as the note, written by the owner's agent", path: "MEMORY.md", plant: () => undefined },
  {
    how: "as the note, renamed to by another program",
    path: DAY,
    plant({ at }) {
      mkdirSync(at("memory"), { recursive: true });
      writeFileSync(at("memory/draft"), SECRET);
      renameSync(at("memory/draft"), at(DAY));
    },
  },
  ...[
    "MEMORY.md~",
    ".MEMORY.md.swp",
    "#MEMORY.md#",
    "MEMORY.md.orig",
    "MEMORY.md.bak",
    "MEMORY.bak",
    "MEMORY (1).md",
    "memory-old/2026-05-05.md",
    ".history/MEMORY_20260505120000.md",
    "memory.MD",
    "Memory/2026-05-05.md",
    "sub/MEMORY.md",
    "sub/memory/2026-05-05.md",
    ".openclaw-01234567-89ab-4cde-8f01-23456789abcd.tmp",
    "sub/.openclaw-01234567-89ab-4cde-8f01-23456789abcd.tmp",
  ].map(named),
  {
    how: "as another name of the note's file",
    path: "harmless.txt",
    plant: ({ at }) => linkSync(at("MEMORY.md"), at("harmless.txt")),
  },
  {
    how: "as a link to the note",
    path: "today.md",
    plant: ({ at }) => symlinkSync(DAY, at("today.md")),
  },
  {
    how: "as another name of the config's file",
    path: "sub/settings.txt",
    plant({ at, config }) {
      writeFileSync(config, `// ${SECRET}\n`);
      linkSync(config, at("sub/settings.txt"));
    },
  },
  {
    how: "in the history of a repository",
    path: ".git/HEAD",
    look: `${git} show HEAD:${DAY}`,
    plant: (ground) => ground.run(`git init -q; git add -f ${DAY}; git commit -qm one`),
  },
  {
    how: "in a packed history",
    path: ".git/packed-refs",
    look: `cp -r .git $TMPDIR/g; ${git} --git-dir=$TMPDIR/g show HEAD:${DAY}`,
    plant: (ground) => ground.run("git gc -q"),
  },
  {
    how: "in a stash",
    path: ".git/refs/stash",
    look: `${git} show stash@{0}:${DAY}`,
    plant: (ground) => ground.run(`echo more >> ${DAY}; git stash -q; git stash apply -q`),
  },
  {
    how: "in a worktree",
    path: "tree/.git",
    look: `cd tree; ${git} show HEAD:${DAY}`,
    plant: (ground) => ground.run("git worktree add -q --no-checkout tree"),
  },
  {
    how: "in a submodule's repository",
    path: "part/.git",
    look: `cd part; ${git} show HEAD:${DAY}`,
    plant: (ground) => ground.run("git submodule -q add ./.git part; rm -rf part/memory"),
  },
  {
    how: "in a bare repository",
    path: "mirror/packed-refs",
    look: `${git} --git-dir=mirror show HEAD:${DAY}`,
    plant: (ground) => ground.run("git clone -q --mirror . mirror"),
  },
  {
    how: "in a copy of the repository's directory",
    path: "sub/kept/HEAD",
    look: `${git} --git-dir=sub/kept show HEAD:${DAY}`,
    plant: (ground) => ground.run("cp -r .git sub/kept"),
  },
  {
    how: "in the objects alone",
    path: "sub/objects-only/info/packs",
    look: `git init -q $TMPDIR/o; GIT_DIR=$TMPDIR/o/.git GIT_OBJECT_DIRECTORY=sub/objects-only ${git} cat-file --batch-all-objects --batch`,
    plant: (ground) => ground.run("cp -r .git/objects sub/objects-only"),
  },
  {
    how: "in a bundle",
    path: "kept.bundle",
    look: `${git} clone -q --no-checkout kept.bundle $TMPDIR/b; git -C $TMPDIR/b show HEAD:${DAY}`,
    plant: (ground) => ground.run("git bundle create -q kept.bundle HEAD"),
  },
  ...["kept.tar", "kept.tar.gz", "sub/kept.TGZ"].map((path): Trick => ({
    how: `in the archive ${path}`,
    path,
    look: `tar -xOf ${path} ${DAY}`,
    plant: (ground) => ground.run(`tar -c${path.endsWith("z") || path.endsWith("Z") ? "z" : ""}f ${path} ${DAY}`),
  })),
];

const lookOf = ({ look, path }: Trick): string => look ?? `cat '${path}'`;
/** The setup makes all calls of all tricks. */
const SETUP_MS = 240_000;
const MARK = "=====";
const ALL = TRICKS.map((trick) => `echo '${MARK}'; (${lookOf(trick)})`).join("\n");
const partsOf = (said: string): readonly string[] => said.split(`${MARK}\n`).slice(1);

type Means = "exec" | "exec in the background that waits" | "read" | "grep";
const MEANS: readonly Means[] = ["exec", "exec in the background that waits", "read", "grep"];

describe.skipIf(bwrap.why !== undefined)(`the owner's notes (${bwrap.why ?? "bubblewrap works"})`, () => {
  let place: Place;
  let stateDir: string;
  /** What reached the model of whom, by what means, for each trick. */
  const said = new Map<string, readonly string[]>();
  const background = new Map<string, string>();
  const everyone = () => ({ guest: place.guest, member: place.member });

  const waiting = async (person: Person): Promise<string> => {
    const told = await person.does({
      tool: "exec",
      args: { command: `read x\n${ALL}`, background: true, timeout: SETUP_MS / 1000 },
    });
    return /session (\S+),/.exec(told)?.[1] ?? "";
  };
  const released = async (person: Person, sessionId: string): Promise<string> => {
    await person.does({ tool: "process", args: { action: "write", sessionId, data: "go\n" } });
    let all = "";
    for (;;) {
      const told = await person.does({ tool: "process", args: { action: "poll", sessionId, timeout: 2 } });
      all += told;
      if (!told.includes("[Still running")) return all;
    }
  };

  beforeAll(async () => {
    stateDir = mkdtempSync(join(tmpdir(), "notes-state-"));
    const sandbox = sandboxSettings({ mode: "auto" }, {}, { home: stateDir, stateDir });
    place = await openPlace({ sandbox }, bwrap.env);
    const { workspace } = place;
    const ground = new Ground(workspace, place.live.paths.configPath);
    ground.put("plan.md", "an ordinary plan");
    ground.put("sub/ok.txt", "an ordinary file");
    ground.put("src/memory/heap.ts", "an ordinary program");
    ground.put("skills/greet/SKILL.md", "---\nname: greet\ndescription: greets\n---\n");
    ground.put("skills/greet/memory.md", "of the skill");
    ground.put("skills/greet/run.sh", "#!/bin/sh\necho greetings\n");
    ground.run("chmod +x skills/greet/run.sh; ln -s plan.md link.md");
    for (const [name, person] of Object.entries(everyone())) background.set(name, await waiting(person));
    await place.owner.does({ tool: "write", args: { path: "MEMORY.md", content: SECRET } });
    for (const trick of TRICKS) trick.plant(ground);
    for (const [name, person] of Object.entries(everyone())) {
      said.set(`${name} exec`, partsOf(await person.does({ tool: "exec", args: { command: ALL } })));
      const told = await released(person, background.get(name) ?? "");
      said.set(`${name} exec in the background that waits`, partsOf(told));
      const read: string[] = [];
      const found: string[] = [];
      for (const { path } of TRICKS) {
        read.push(await person.does({ tool: "read", args: { path } }));
        found.push(await person.does({ tool: "grep", args: { pattern: "owner is|hospital", path: dirname(path) } }));
      }
      said.set(`${name} read`, read);
      said.set(`${name} grep`, found);
    }
  }, SETUP_MS);
  afterAll(async () => {
    await place?.close();
    rmSync(stateDir, { recursive: true, force: true });
  });

  it("are where the tricks say, for whoever sees the workspace", () => {
    const TMPDIR = mkdtempSync(join(tmpdir(), "tricks-"));
    onTestFinished(() => rmSync(TMPDIR, { recursive: true, force: true }));
    const env = { ...GIT, TMPDIR };
    const shown = execFileSync("/bin/sh", ["-c", ALL], {
      cwd: place.workspace,
      env,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const parts = partsOf(shown.toString("utf8"));
    expect(TRICKS.filter((_, at) => parts[at]?.includes(SECRET) !== true).map(({ how }) => how)).toEqual([]);
  });

  it.each(["guest", "member"].flatMap((who) => MEANS.map((means) => [who, means] as const)))(
    "do not reach the model of a %s by %s",
    (who, means) => {
      const parts = said.get(`${who} ${means}`) ?? [];
      expect(parts).toHaveLength(TRICKS.length);
      expect(TRICKS.filter((_, at) => parts[at]?.includes("hospital") !== false).map(({ how }) => how)).toEqual([]);
    },
  );

  it("leave guests ordinary files, links, programs and skills, which they cannot write", async () => {
    const command =
      "cat plan.md sub/ok.txt link.md src/memory/heap.ts skills/greet/memory.md; skills/greet/run.sh; echo x > plan.md";
    for (const person of Object.values(everyone())) {
      const told = await person.does({ tool: "exec", args: { command } });
      for (const text of ["an ordinary plan", "an ordinary file", "an ordinary program", "of the skill", "greetings"])
        expect(told).toContain(text);
      expect(told.match(/an ordinary plan/g)).toHaveLength(2);
      expect(told).toContain("Read-only file system");
      expect(await person.does({ tool: "read", args: { path: "skills/greet/memory.md" } })).toContain("of the skill");
    }
  });

  it("show guests what has changed in the workspace, and no more what is gone or has become a note", async () => {
    const { guest, workspace } = place;
    const look = () => guest.does({ tool: "exec", args: { command: "cat new/a.txt new/run; ls -l new" } });
    mkdirSync(join(workspace, "new"));
    writeFileSync(join(workspace, "new/a.txt"), "first");
    expect(await look()).toContain("first");
    writeFileSync(join(workspace, "new/a.txt"), "other");
    expect(await look()).toContain("other");
    writeFileSync(join(workspace, "new/run"), "of a program", { mode: 0o755 });
    expect(await look()).toMatch(/of a program[^]*-rwxr-xr-x/);
    renameSync(join(workspace, "new/a.txt"), join(workspace, "memory/a.md"));
    expect(await look()).not.toContain("other");
    rmSync(join(workspace, "new"), { recursive: true });
    expect(await look()).not.toContain("of a program");
  });

  it("are there for owners, in the sandbox too, with their history", async () => {
    const { ownerInGroup } = place;
    const command = `cat MEMORY.md harmless.txt MEMORY.md~; ${git} show HEAD:${DAY}`;
    const told = await ownerInGroup.does({ tool: "exec", args: { command } });
    expect(told.match(new RegExp(SECRET, "g"))).toHaveLength(4);
    for (const path of ["MEMORY.md", DAY, "MEMORY.md~", "harmless.txt", "sub/memory/2026-05-05.md"])
      expect(await ownerInGroup.does({ tool: "read", args: { path } })).toContain(SECRET);
  });
});
