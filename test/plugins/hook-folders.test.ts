import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { keyNames } from "../../src/sessions/shown/wire-keys.ts";
import { agentOf } from "../../src/sessions/keys.ts";
import { DEFAULT_AGENT, sessionKey } from "../../src/types/ids.ts";
import { Contributions } from "../../src/plugins/contributions.ts";
import { internalHooksConfig } from "../../src/plugins/internal-hooks/config.ts";
import { hashOfHook } from "../../src/plugins/internal-hooks/approved.ts";
import type { HookRoot } from "../../src/plugins/internal-hooks/find-hooks.ts";
import { HookFolders } from "../../src/plugins/internal-hooks/hook-folders.ts";
import type { HookName } from "../../src/types/hook/hook-table.ts";
import type { HookContext } from "../../src/types/hook/hooks.ts";
import { manualClock } from "../kit/clock.ts";
import { writeHook } from "../kit/gateway/hook-folders.ts";
import { recordLog } from "../kit/log.ts";
import { PATIENCE } from "../kit/until.ts";

interface Scene {
  readonly dir: string;
  readonly config: Record<string, unknown>;
  readonly roots?: readonly HookRoot[];
  readonly grants?: readonly string[];
}

function directory(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "hook-folders-")));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

const below = (dir: string, source: HookRoot["source"], more: Partial<HookRoot> = {}): HookRoot => ({
  source,
  dir: join(dir, source),
  ...more,
});

/** What the handlers of a test have noted. */
const noted: string[] = [];
const NOTE = Symbol.for("test.hook-folders");
Reflect.set(globalThis, NOTE, (text: string) => noted.push(text));
const note = (text: string): string => `globalThis[Symbol.for("test.hook-folders")](${text});`;
const notes = (text: string): string => `export default (event) => { ${note(text)} };`;

async function open({ dir, config, roots, grants = [] }: Scene) {
  noted.length = 0;
  const log = recordLog();
  const clock = manualClock();
  const contributions = new Contributions([]);
  const parsed = internalHooksConfig.parse(config);
  const lent: (readonly string[])[] = [];
  const folders = new HookFolders({
    contributions,
    clock,
    log,
    copies: join(dir, "copies"),
    scene: () => ({
      config: parsed,
      roots: roots ?? [below(dir, "bundled"), below(dir, "managed"), below(dir, "workspace", { agent: "main" })],
      machine: { platform: "linux", env: {}, config: { a: { b: true } } },
      workspaces: [join(dir, "workspace")],
      closed: [],
    }),
    settingsOf: (key) => parsed.entries[key],
    cfg: () => ({ shown: true }),
    mayListen: (plugin) => grants.includes(plugin),
    keys: keyNames(() => DEFAULT_AGENT),
    agentOf: (key) => agentOf(sessionKey(key)),
    lend: (keys) => lent.push(keys),
    say: () => undefined,
  });
  await folders.apply();
  const fire = async (name: HookName, event: object, context: HookContext = {}) => {
    for (const hook of contributions.hooksOf(name)) await hook.handler(event, context);
  };
  return { folders, contributions, log, fire, lent, clock };
}

const stateOf = (folders: HookFolders, name: string) => folders.view.hooks.find((hook) => hook.name === name);
const received = { content: "hi", sessionKey: "chat:1" };

describe("hooks that are folders", () => {
  test("of an earlier root are preferred, but managed ones to bundled ones", async () => {
    const dir = directory();
    const events = ["message:received"];
    for (const source of ["bundled", "managed", "workspace"])
      writeHook(join(dir, source), { name: "same", events, code: notes(`"${source}"`) });
    writeHook(join(dir, "managed"), { name: "mine", events, code: notes(`"mine"`) });
    writeHook(join(dir, "workspace"), { name: "mine", events, code: notes(`"not mine"`) });
    const { folders, fire } = await open({ dir, config: { enabled: true } });
    await fire("message_received", received);
    expect(noted.toSorted()).toEqual(["managed", "mine"]);
    expect(folders.view.leftOut.map(({ source, name }) => `${source} ${name}`).toSorted()).toEqual([
      "bundled same",
      "workspace mine",
      "workspace same",
    ]);
  });

  test("are called when the config wants them: bundled and workspace ones by name, others unless it says no", async () => {
    const dir = directory();
    const events = ["message:received"];
    writeHook(join(dir, "bundled"), { name: "bundled", events, code: notes(`"bundled"`) });
    writeHook(join(dir, "managed"), { name: "managed", events, code: notes(`"managed"`) });
    const calledWith = async (config: Record<string, unknown>) => {
      const { fire } = await open({ dir, config });
      await fire("message_received", received);
      return noted.join(" ");
    };
    expect(await calledWith({})).toBe("");
    expect(await calledWith({ enabled: true })).toBe("managed");
    expect(await calledWith({ entries: { bundled: { enabled: true } } })).toBe("bundled managed");
    expect(await calledWith({ entries: { bundled: { enabled: true }, managed: { enabled: false } } })).toBe("bundled");
    expect(await calledWith({ enabled: false, entries: { bundled: { enabled: true } } })).toBe("");
  });

  test("that cannot be used are named with the reason, and the others are called", async () => {
    const dir = directory();
    const managed = join(dir, "managed");
    const events = ["message:received", "tide:high"];
    writeHook(managed, { name: "good", events, code: notes(`"good"`) });
    writeHook(managed, { name: "far", events, code: "", metadata: { os: ["win32"] } });
    writeHook(managed, { name: "needy", events, code: "", metadata: { requires: { env: ["TIDE_KEY"] } } });
    writeHook(managed, { name: "silent", events: [], code: "" });
    writeHook(managed, { name: "codeless", events, code: "", file: "other.js" });
    const linked = writeHook(managed, { name: "linked", events, code: "", file: "other.js" });
    writeFileSync(join(dir, "outside.js"), "");
    symlinkSync(join(dir, "outside.js"), join(linked, "handler.js"));
    mkdirSync(join(managed, "text"));
    writeFileSync(join(managed, "text", "HOOK.md"), "no frontmatter");
    const { folders, fire } = await open({ dir, config: { enabled: true } });
    await fire("message_received", received);
    expect(noted).toEqual(["good"]);
    expect(stateOf(folders, "good")?.unknownEvents).toEqual(["tide:high"]);
    expect(stateOf(folders, "far")).toMatchObject({ state: "unfit", why: "it is for win32, this is linux" });
    expect(stateOf(folders, "needy")?.why).toBe("it needs the environment variable TIDE_KEY");
    const whys = folders.view.leftOut.map(({ folder, why }) => `${folder.split("/").at(-1)}: ${why}`).toSorted();
    expect(whys).toEqual([
      expect.stringContaining("codeless: it has no handler.ts"),
      "linked: its handler.js is a link that leads out of its folder",
      "silent: its HOOK.md names no events (metadata.openclaw.events)",
      expect.stringContaining("text: its HOOK.md does not begin with frontmatter"),
    ]);
  });

  test("get the variables of the config, which also meet their conditions", async () => {
    const dir = directory();
    const metadata = { hookKey: "tides", requires: { env: ["TIDE_KEY"], config: ["a.b"] } };
    writeHook(join(dir, "managed"), { name: "needy", events: ["message"], code: notes(`"called"`), metadata });
    const { fire, lent } = await open({
      dir,
      config: { entries: { tides: { enabled: true, env: { TIDE_KEY: "x" } } } },
    });
    await fire("message_received", received);
    expect([noted, lent]).toEqual([["called"], [["tides"]]]);
  });

  test("export what they say, also from CommonJS", async () => {
    const dir = directory();
    const events = ["message:received"];
    const code = `module.exports = { other() { ${note(`"other"`)} }, default() { ${note(`"usual"`)} } };`;
    const metadata = { export: "other" };
    writeHook(join(dir, "managed"), { name: "named", events, code, file: "index.js", metadata });
    writeHook(join(dir, "managed"), {
      name: "usual",
      events,
      code: `module.exports = () => { ${note(`"only"`)} };`,
      file: "index.js",
    });
    writeHook(join(dir, "managed"), { name: "wrong", events, code, file: "index.js", metadata: { export: "missing" } });
    const { fire, folders } = await open({ dir, config: { enabled: true } });
    await fire("message_received", received);
    expect(noted.toSorted()).toEqual(["only", "other"]);
    expect(stateOf(folders, "wrong")).toMatchObject({
      state: "unfit",
      why: expect.stringContaining("exports no function missing"),
    });
  });

  test("of a plugin listen only to what the plugin may read", async () => {
    const dir = directory();
    const roots = [below(dir, "plugin", { plugin: "tides", isHook: true })];
    writeHook(join(dir, "plugin"), { name: "pack", events: ["message:received"], code: notes(`"read"`) });
    const without = await open({ dir, roots, config: { enabled: true } });
    await without.fire("message_received", received);
    expect(noted).toEqual([]);
    const granted = await open({ dir, roots, config: { enabled: true }, grants: ["tides"] });
    await granted.fire("message_received", received);
    expect(noted).toEqual(["read"]);
  });

  test("of one agent's workspace are not told what happens to another", async () => {
    const dir = directory();
    const folder = writeHook(join(dir, "workspace"), {
      name: "own",
      events: ["message"],
      code: notes("event.sessionKey"),
    });
    const integrity = await hashOfHook({ folder, handler: "handler.mjs" });
    const { fire } = await open({ dir, config: { entries: { own: { enabled: true, integrity } } } });
    await fire("message_received", { sessionKey: "chat:1" });
    await fire("message_received", { sessionKey: "agent:other:chat:1" });
    expect(noted).toEqual(["agent:main:chat:1"]);
  });

  test("cannot reach code outside of what was approved", async () => {
    const dir = directory();
    const workspace = join(dir, "workspace");
    mkdirSync(workspace);
    writeFileSync(join(workspace, "lib.mjs"), "export const secret = 1;");
    const code = `import "../lib.mjs"; ${notes(`"reached"`)}`;
    const folder = writeHook(workspace, { name: "reaching", events: ["message"], code });
    const integrity = await hashOfHook({ folder, handler: "handler.mjs" });
    const { fire, folders } = await open({ dir, config: { entries: { reaching: { enabled: true, integrity } } } });
    await fire("message_received", received);
    expect(noted).toEqual([]);
    expect(stateOf(folders, "reaching")).toMatchObject({ state: "unfit", why: expect.stringContaining("lib.mjs") });
  });

  test("run what was approved, or nothing, when their files change before their first event", async () => {
    const dir = directory();
    const folder = writeHook(join(dir, "workspace"), { name: "late", events: ["message"], code: notes(`"approved"`) });
    const integrity = await hashOfHook({ folder, handler: "handler.mjs" });
    const config = { entries: { late: { enabled: true, integrity } } };
    const { fire, folders } = await open({ dir, config });
    writeFileSync(join(folder, "handler.mjs"), notes(`"changed"`));
    await fire("message_received", received);
    expect([noted, stateOf(folders, "late")?.why]).toEqual([[], "its files were changed after they were approved"]);
    // A copy that somebody has changed is not believed either.
    writeFileSync(join(folder, "handler.mjs"), notes(`"approved"`));
    const again = await open({ dir, config });
    await again.fire("message_received", received);
    expect(noted).toEqual(["approved"]);
    const [copy = ""] = readdirSync(join(dir, "copies"));
    writeFileSync(join(dir, "copies", copy, "handler.mjs"), notes(`"changed"`));
    const third = await open({ dir, config });
    await third.fire("message_received", received);
    expect(noted).not.toContain("changed");
    // Copies of what is not approved any more are removed.
    await open({ dir, config: { entries: { late: { enabled: false } } } });
    expect(readdirSync(join(dir, "copies"))).toEqual([]);
  });

  test("without a folder are rows of the config, approved by their file", async () => {
    const dir = directory();
    const workspace = join(dir, "workspace");
    mkdirSync(workspace);
    writeFileSync(join(workspace, "tide.mjs"), `export function high() { ${note(`"high"`)} }`);
    writeFileSync(join(dir, "own.mjs"), notes(`"own"`));
    const row = { event: "message:received", module: "tide.mjs", export: "high" };
    const own = { event: "message", module: join(dir, "own.mjs") };
    const first = await open({ dir, config: { handlers: [row, own] } });
    await first.fire("message_received", received);
    expect(noted).toEqual(["own"]);
    const { integrity, fix } = stateOf(first.folders, "handlers[0]") ?? {};
    expect(fix).toContain(`set hooks.internal.handlers[0].integrity to ${integrity}`);
    const second = await open({ dir, config: { handlers: [{ ...row, integrity }] } });
    await second.fire("message_received", received);
    expect(noted).toEqual(["high"]);
  });

  test("that do not end are left out while three calls are late, so that they do not pile up", async () => {
    const dir = directory();
    const code = `export default () => { ${note(`"called"`)} return new Promise(() => undefined); };`;
    writeHook(join(dir, "managed"), { name: "hanging", events: ["message"], code });
    const { contributions, log, clock } = await open({ dir, config: { enabled: true } });
    const [hook] = contributions.hooksOf("message_received");
    const begin = () => void Promise.resolve(hook?.handler(received, {}));
    // Many at once are no trouble.
    for (let at = 0; at < 30; at += 1) begin();
    await vi.waitUntil(() => noted.length === 30, PATIENCE);
    clock.pass(10_000);
    await hook?.handler(received, {});
    await hook?.handler(received, {});
    expect(noted).toHaveLength(30);
    expect(log.lines.filter((line) => line.includes("events are kept from a hook"))).toHaveLength(1);
  });

  test("of a pack are in the folders that its package.json names, and nowhere else", async () => {
    const dir = directory();
    const pack = join(dir, "managed", "pack");
    writeHook(join(pack, "hooks"), { name: "packed", events: ["message"], code: notes(`"packed"`) });
    writeHook(join(dir), { name: "outside", events: ["message"], code: notes(`"outside"`) });
    const hooks = ["./hooks/packed", "../../outside"];
    writeFileSync(join(pack, "package.json"), JSON.stringify({ name: "pack", openclaw: { hooks } }));
    const { fire, folders } = await open({ dir, config: { enabled: true } });
    await fire("message_received", received);
    expect(noted).toEqual(["packed"]);
    expect(folders.view.leftOut[0]?.why).toContain("../../outside, which is not in it");
  });
});
