import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { GuestRules } from "../../../src/tools/host/access.ts";
import { privateNotes } from "../../../src/tools/host/prompt-files.ts";
import { SandboxMachine } from "../../../src/tools/sandbox/machine.ts";
import { viewOf } from "../../../src/tools/sandbox/view.ts";
import type { SandboxConfig } from "../../../src/tools/sandbox/config.ts";
import type { CommandEnd } from "../../../src/types/run/backend.ts";
import { openGround, SECRET, whyNoBwrap, type Ground } from "./fixture.ts";

type Plant = (workspace: string) => void;
const placed =
  (...paths: readonly string[]): Plant =>
  () => {
    for (const path of paths) put(path, SECRET);
  };
/** The first path gets a second name. */
const linked =
  (from: string, to: string, ...more: readonly string[]): Plant =>
  (workspace) => {
    for (const path of [from, ...more]) put(path, SECRET);
    linkSync(join(workspace, from), join(workspace, to));
  };
const named = (...paths: readonly string[]) => [paths, placed(...paths)] as const;

/** What it is, the paths with the text, and how they come to be. */
const HIDDEN_PLACES: readonly (readonly [string, readonly string[], Plant])[] = [
  ["second name of a note's copy", ["second.txt"], linked("MEMORY.md.bak", "second.txt")],
  ["second name of a note in a nested folder", ["second.txt"], linked("sub/memory/a.md", "second.txt")],
  ["second name of an archive", ["second.bin"], linked("kept.tar", "second.bin")],
  ["second name of a repository's file", ["second.bin"], linked(".git/objects/ab/cd", "second.bin")],
  [
    "second name of a file of a repository with another name",
    ["second.bin"],
    linked("kept/objects/ab/cd", "second.bin", "kept/HEAD"),
  ],
  [
    "copy of a repository of Mercurial, Subversion, Bazaar or Darcs with another name",
    ["hg/store/data/m.i", "svn/pristine/aa", "server/db/revs/1", "bzr/repository/packs/x", "darcs/patches/x"],
    placed(
      "hg/store/data/m.i",
      "hg/requires",
      "svn/pristine/aa",
      "svn/wc.db",
      "bzr/repository/packs/x",
      "bzr/branch-format",
      "server/db/revs/1",
      "server/format",
      "server/locks/x",
      "darcs/patches/x",
      "darcs/hashed_inventory",
    ),
  ],
  ["file with its versions", ...named("RCS/2026-05-05.md,v", "plan.md,v")],
  ["archive with a name around it", ...named("a.tar.gz.bak", "a.zip~", "a.zip (1)", "a.tar-old", "a.rar.old")],
  ["part of an archive", ...named("a.7z.001", "a.tar.gz.part", "a.tar.gz.1", "a.tar.gz.aa", "a.difftar.gz")],
  ["archive of another kind", ...named("a.pax", "a.cab", "a.xar", "a.qcow2", "a.vmdk", "a.tb2")],
  [
    "note whose path is written as a name",
    ...named(".undo/%root%ws%memory%projects.md", "!root!ws!memory!projects.md~", "#!ws!memory!projects.md#"),
  ],
  [
    "copy of the notes' folder with words around its name",
    ...named(
      "old-memory/a.md",
      "Copy of memory/a.md",
      "memory - Kopie/a.md",
      "backup/backup_memory/a.md",
      "memory-v2/a.md",
    ),
  ],
];

let ground: Ground;
beforeEach(() => {
  ground = openGround(undefined, { workspaceAccess: "ro" });
  vi.stubEnv("HOME", ground.home);
});
afterEach(() => {
  vi.unstubAllEnvs();
  ground.close();
});

const put = (path: string, text: string): void => {
  mkdirSync(dirname(join(ground.workspace, path)), { recursive: true });
  writeFileSync(join(ground.workspace, path), text);
};
const guestOf = (workspaces: readonly string[], own: readonly string[] = []): GuestRules => ({
  prompts: { workspaces, roots: [] },
  received: { dir: join(ground.state, "media"), own: async () => new Set(own) },
  notes: privateNotes(workspaces),
});
const backends = (config: SandboxConfig = {}, session = "s1", rights = guestOf([ground.workspace])) =>
  ground.backends(config, { rights, session });
async function run(command: string, { exec } = backends()): Promise<CommandEnd> {
  const cwd = await exec.directory(".", ground.workspace);
  return (await exec.start({ command, cwd, timeoutMs: 20_000, input: "none" })).ended;
}
const says = async (...args: Parameters<typeof run>): Promise<string> => (await run(...args)).output.text;

describe.skipIf(whyNoBwrap !== undefined)(
  `what a guest's command sees of a workspace (${whyNoBwrap ?? "bubblewrap works"})`,
  () => {
    it("is bounded, and the model is told what is not there", async () => {
      put("big.bin", "");
      truncateSync(join(ground.workspace, "big.bin"), 600 * 1_048_576);
      put("deep/er/plan.md", "a plan");
      const { output, note } = await run("cat deep/er/plan.md; ls");
      expect(output.text).toBe("a plandeep\n");
      expect(note).toContain("Not there: big.bin.");
      rmSync(join(ground.workspace, "big.bin"));
      expect((await run("true")).note).toBeUndefined();
    });

    it("is a part of a workspace with too many files: the top comes first, and packages last", async () => {
      const dirs = Array.from({ length: 20 }, (_, at) => join(ground.workspace, `node_modules/p${at}`));
      for (const dir of dirs) {
        mkdirSync(dir, { recursive: true });
        for (let at = 0; at < 1001; at += 1) writeFileSync(join(dir, `${at}.js`), "");
      }
      put("z/y/x/plan.md", "a plan");
      const { output, note } = await run("cat z/y/x/plan.md; find . | wc -l");
      expect(output.text).toBe("a plan20001\n");
      expect(note).toMatch(/20000 entries and 512 MB at most\. Not there: node_modules\/p\d+\/\d+\.js.*more\.$/);
    });

    it("has the long results of its own session, and a directory that the config binds as it is on the disk", async () => {
      const [mine, other] = [
        await backends().files.keep("a long result"),
        await backends({}, "s2").files.keep("of another"),
      ];
      put("data/set.csv", "1,2");
      put("data/kept.zip", "of everybody");
      const config = { bwrap: { binds: [join(ground.workspace, "data")] } };
      const told = await says(
        `cat ${mine} data/set.csv data/kept.zip; cat ${other}; ls -a . .openclaw/output`,
        backends(config),
      );
      expect(told).toContain("a long result1,2of everybody");
      expect(told).toContain("No such file");
      expect(told).not.toContain("of another");
    });

    it("has neither a nested workspace's notes nor the files of other conversations", async () => {
      const inner = join(ground.workspace, "agents/ann");
      put("agents/ann/MEMORY.md", SECRET);
      put("agents/ann/memory/state.json", SECRET);
      put("agents/ann/plan.md", "of ann");
      const told = await says(
        "cat agents/ann/*; cat agents/ann/memory/*",
        backends({}, "s1", guestOf([ground.workspace, inner])),
      );
      expect(told).toContain("of ann");
      expect(told).not.toContain(SECRET);
      await expect(
        backends({}, "s1", guestOf([ground.workspace, inner])).files.open(
          "agents/ann/memory/state.json",
          ground.workspace,
        ),
      ).rejects.toThrow("notes of private chats");
    });

    it("leads nowhere else by links, and has no pipes", async () => {
      symlinkSync(join(ground.home, ".ssh"), join(ground.workspace, "away"));
      symlinkSync("away/id_rsa", join(ground.workspace, "key"));
      const told = await says("cat away/id_rsa key; ls -l");
      expect(told).not.toContain(SECRET);
      expect(told).toContain(`away -> ${ground.home}/.ssh`);
    });

    it("is whole for commands that start at the same time as the files change", async () => {
      const texts = ["a".repeat(50_000), "b".repeat(50_000)];
      put("plan.md", texts[0] ?? "");
      let isOver = false;
      const changes = (async () => {
        for (let at = 0; !isOver; at += 1) {
          put("draft.txt", texts[at % 2] ?? "");
          renameSync(join(ground.workspace, "draft.txt"), join(ground.workspace, "plan.md"));
          await new Promise((resolve) => setImmediate(resolve));
        }
      })();
      const told = await Promise.all(
        ["s1", "s2", "s3", "s4"].map((session) => says("sha256sum < plan.md", backends({}, session))),
      );
      isOver = true;
      await changes;
      expect(new Set(told).size).toBeLessThanOrEqual(2);
      for (const one of told) expect(one).toMatch(/^[0-9a-f]{64} /);
    });

    it.each(HIDDEN_PLACES)("has no %s, which the tools for files do not open either", async (_, paths, plant) => {
      put("MEMORY.md", SECRET);
      put("plan.md", SECRET);
      plant(ground.workspace);
      const { files } = backends();
      const told = await says(paths.map((path) => `cat '${path}' 2> /dev/null`).join("; ") + "; cat plan.md");
      expect(told).toBe(SECRET);
      for (const path of paths)
        await expect(files.open(path, ground.workspace), path).rejects.toThrow(/only an owner's|belongs/);
      await (await files.open("plan.md", ground.workspace)).close();
    });

    it("has files with names that are like those of notes and archives", async () => {
      const paths = [
        "src/old-memory.ts",
        "src/shared-memory/heap.ts",
        "notes.zip.md",
        "main.bundle.ts",
        "x.pack.js",
        "patches/a.ts",
      ];
      for (const path of [...paths, "patches/inventory.md"]) put(path, "x");
      linkSync(join(ground.workspace, "src/old-memory.ts"), join(ground.workspace, "second.ts"));
      expect(await says(["second.ts", ...paths].map((path) => `cat ${path}`).join(";"))).toBe(
        "x".repeat(paths.length + 1),
      );
      await (await backends().files.open("second.ts", ground.workspace)).close();
    });

    it("has no directory whose path is too long for a copy, and the model is told so", async () => {
      put("plan.md", "a plan");
      let deep = "";
      while (join(ground.workspace, deep).length < 3900) deep = join(deep, "d".repeat(100));
      put(join(deep, "x.md"), "deep");
      const { output, note } = await run("cat plan.md");
      expect(output.text).toBe("a plan");
      expect(note).toContain("Not there: ddd");
    });

    it("leaves nothing of an earlier process, and nothing of what is gone", async () => {
      put("plan.md", "a plan");
      await run("true");
      const copies = join(ground.state, "state/guest-copies");
      const trees = () => readdirSync(copies).map((name) => join(copies, name, "tree"));
      expect(trees().map((tree) => readFileSync(join(tree, "plan.md"), "utf8"))).toEqual(["a plan"]);
      rmSync(join(ground.workspace, "plan.md"));
      await run("true");
      expect(trees().map((tree) => existsSync(join(tree, "plan.md")))).toEqual([false]);
      await new SandboxMachine({
        env: {},
        dir: join(ground.state, "state"),
        contributions: { sandboxEngines: [] },
      }).copies.clear();
      expect(existsSync(copies)).toBe(false);
    });
  },
);

it("hides a file of the gateway with its directory, also one that does not exist yet", async () => {
  const own = join(ground.workspace, "own");
  put("own/openclaw.json", SECRET);
  const hidden = [join(own, "openclaw.json"), join(own, "exec-approvals.json")];
  const { home, workspace } = ground;
  for (const one of [hidden, hidden.slice(1)]) {
    const { mounts } = await viewOf({ writable: [workspace], readable: [], hidden: one, home });
    expect(mounts.filter(({ path }) => path.startsWith(own))).toEqual([{ path: own, as: "frame" }]);
  }
});
