import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { FOLDER_LIMITS } from "../../../src/plugins/install/paths.ts";
import { hashTree, readTree } from "../../../src/plugins/install/tree.ts";
import { run } from "../../kit/gateway/cli.ts";
import { makeHome } from "../../kit/gateway/process.ts";
import { archiveOf, asEntries, folder, makePlugin, pluginFiles } from "../../kit/plugins/sources.ts";

const PRELOAD = `--import ${pathToFileURL(join(import.meta.dirname, "kill-at.ts")).href}`;
/** Every so many changes of files, the process is killed once. */
const EVERY = 5;

/** A command, what is installed before it and after it, and the kind of its source. */
const COMMANDS = [
  {
    name: "install",
    source: "folder",
    before: "absent",
    after: "1.0.0",
    args: (from: string) => ["install", from, "--yes"],
  },
  { name: "update", source: "archive", before: "1.0.0", after: "2.0.0", args: () => ["update", "toy", "--yes"] },
  {
    name: "uninstall",
    source: "folder",
    before: "1.0.0",
    after: "absent",
    args: () => ["uninstall", "toy", "--force"],
  },
] as const;

test.each(COMMANDS)(
  "plugins $name killed at any step leaves one whole plugin, and can be repeated",
  async (command) => {
    const scene = await openScene(command.source);
    if (command.before !== "absent") await scene.plugins("install", scene.publish(command.before), "--yes");
    const args = command.args(scene.publish(command.after === "absent" ? command.before : command.after));
    scene.keep();
    const steps = await scene.count(args);
    const seen = new Set<string>();
    for (let at = 1; at <= steps; at += EVERY) {
      scene.restore();
      expect(await scene.killed(args, at), `step ${at}`).toBe("SIGKILL");
      expect(await scene.plugins("doctor")).toMatchObject({ code: 0, err: "" });
      const state = await scene.state();
      expect([command.before, command.after], `step ${at}`).toContain(state);
      seen.add(state);
      const { code, err } = await scene.plugins(...args);
      // What was done when it was killed is refused as done.
      if (code !== 0)
        expect([state, err], `step ${at}`).toEqual([command.after, expect.stringMatching(/already|no plugin/i)]);
      expect(await scene.state(), `step ${at}`).toBe(command.after);
      expect(scene.rest(), `step ${at}`).toEqual([]);
    }
    expect(seen).toEqual(new Set([command.before, command.after]));
  },
);

async function openScene(kind: "folder" | "archive") {
  const home = await makeHome({});
  onTestFinished(() => home.remove());
  const [dir, { stateDir }] = [folder(), home];
  writeFileSync(home.configPath, "{\n  // mine\n}\n");
  const env = { PATH: process.env["PATH"] ?? "", HOME: dir, OPENCLAW_STATE_DIR: stateDir };
  const killing = (at: number, more = {}) => ({
    NODE_OPTIONS: PRELOAD,
    KILL_AT: String(at),
    KILL_BELOW: stateDir,
    ...more,
  });
  const toy = join(stateDir, "extensions/toy");
  const copy = join(dir, "kept");
  return {
    /** A command in this process. */
    plugins: (...args: string[]) => run(["plugins", ...args], env),
    /** Writes the source of a version, always at the same place. */
    publish(version: string): string {
      if (kind === "folder") return makePlugin(join(dir, "source"), { version });
      const file = join(dir, "toy.tgz");
      writeFileSync(file, archiveOf(asEntries(pluginFiles({ version }))));
      return file;
    },
    keep: () => cpSync(stateDir, copy, { recursive: true, verbatimSymlinks: true }),
    restore() {
      rmSync(stateDir, { recursive: true });
      mkdirSync(stateDir, { mode: 0o700 });
      cpSync(copy, stateDir, { recursive: true, verbatimSymlinks: true });
    },
    /** How many changes of files the whole command makes. */
    async count(args: readonly string[]): Promise<number> {
      const file = join(dir, "count");
      expect(await home.run(["plugins", ...args], killing(0, { KILL_COUNT: file }))).toMatchObject({ code: 0 });
      return Number(readFileSync(file, "utf8"));
    },
    async killed(args: readonly string[], at: number) {
      const { code } = await home.run(["plugins", ...args], killing(at));
      // Others take the locks of a dead process when they are twenty seconds old.
      for (const name of this.rest().filter((one) => one.endsWith(".lock")))
        rmSync(join(stateDir, name), { recursive: true });
      return code;
    },
    /** The version that is whole and recorded. */
    async state(): Promise<string> {
      const file = join(stateDir, "plugins/installs.json");
      const record = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).installRecords.toy : undefined;
      if (!existsSync(toy)) return record === undefined ? "absent" : "a record alone";
      const files = await hashTree(toy, await readTree(toy, FOLDER_LIMITS));
      return files === record?.files ? record.version : "files without their record";
    },
    /** What no command should leave. */
    rest: () =>
      readdirSync(stateDir, { recursive: true, encoding: "utf8" }).filter((name) =>
        /\.tmp$|\.draft-[^/]*$|\.lock$/.test(name),
      ),
  };
}
