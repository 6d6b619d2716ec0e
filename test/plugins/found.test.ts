import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { pluginsConfig } from "../../src/plugins/config.ts";
import { activationOf } from "../../src/plugins/found/activation.ts";
import { discoverPlugins, type PluginPlaces } from "../../src/plugins/found/discover.ts";
import { writePlugin } from "../kit/gateway/plugins.ts";

let dir: string;
let places: PluginPlaces;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "plugins-"));
  places = {
    loadPaths: [],
    workspaceDirs: [join(dir, "workspace")],
    globalDir: join(dir, "extensions"),
    installedIds: new Set(),
    engines: {},
    bundledIds: new Set(["telegram"]),
  };
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const CODE = "export default () => { throw new Error('must not run'); };";
const at = (place: string, id: string, more: object = {}) => writePlugin(join(dir, place), { id, code: CODE, ...more });
const found = async () => (await discoverPlugins(places)).plugins.map(({ manifest, root }) => [manifest.id, root]);
const broken = async () => Object.fromEntries((await discoverPlugins(places)).broken.map(({ id, why }) => [id, why]));

describe("plugins are found", () => {
  it("in paths of the config before extensions/, and there before workspaces, into which agents write", async () => {
    const inWorkspace = at("workspace", "notes");
    expect(await found()).toEqual([["notes", inWorkspace]]);
    const byHand = at("extensions", "notes");
    expect(await found()).toEqual([["notes", byHand]]);
    places = { ...places, installedIds: new Set(["notes"]) };
    expect(await found()).toEqual([["notes", byHand]]);
    const named = at("mine", "notes");
    places = { ...places, loadPaths: [named] };
    expect(await found()).toEqual([["notes", named]]);
    expect((await broken())["notes"]).toBe(`${named} has the same id and priority over it`);
  });

  it("below a path that is a folder of plugins, and not among loose files", async () => {
    const one = at("many", "one");
    const two = at("many", "two");
    writeFileSync(join(dir, "many", "three.js"), CODE);
    places = { ...places, loadPaths: [join(dir, "many")] };
    expect(await found()).toEqual([
      ["one", one],
      ["two", two],
    ]);
  });

  it.each([
    ["no id", { id: undefined }, "id:"],
    ["an id that leads elsewhere", { id: "../notes" }, "id: letters"],
    ["the name of a property that objects inherit", { id: "constructor" }, '"constructor" cannot be the id'],
    ["the name of the gateway's own context engine", { id: "legacy" }, '"legacy" cannot be the id'],
    ["the name of an empty slot", { id: "none" }, '"none" cannot be the id'],
    ["no schema of its settings", { configSchema: undefined }, "configSchema: an object"],
  ])("not with %s", async (_what, manifest, why) => {
    at("extensions", "bad", { manifest });
    expect(await found()).toEqual([]);
    expect(Object.values(await broken())[0]).toContain(why);
  });

  it("not with an entry outside their folder, without one, with one that cannot be read, or with the id of a bundled extension", async () => {
    at("extensions", "outside", { package: { openclaw: { extensions: ["../../evil.js"] } } });
    at("extensions", "nothing", { package: { openclaw: { extensions: ["./missing.js"] } } });
    at("extensions", "telegram");
    const linked = at("extensions", "linked", { package: { openclaw: { extensions: ["./link.js"] } } });
    writeFileSync(join(dir, "evil.js"), CODE);
    const loop = join(at("extensions", "loop"), "index.js");
    rmSync(loop);
    symlinkSync(loop, loop);
    symlinkSync(join(dir, "evil.js"), join(linked, "link.js"));
    expect(await found()).toEqual([]);
    expect(await broken()).toEqual({
      outside: "its entry ../../evil.js is outside its folder",
      nothing: "none of its entry files exists: missing.js",
      loop: expect.stringMatching(/^its entry index\.js cannot be read: .*ELOOP/),
      telegram: "a bundled extension has this id",
      linked: "its entry link.js leads outside its folder",
    });
  });

  it("whatever else their manifest says: unknown kinds, contracts and keys are for other versions", async () => {
    const manifest = { kind: ["lifecycle", "memory"], contracts: { sessionActions: ["x"], tools: ["t"] }, uiHints: 7 };
    at("extensions", "odd", { manifest });
    const [odd] = (await discoverPlugins(places)).plugins;
    expect(odd?.manifest).toMatchObject({ id: "odd", kinds: ["lifecycle", "memory"], tools: ["t"] });
  });

  it("with built JavaScript before its TypeScript source", async () => {
    const root = at("extensions", "typed", { package: { openclaw: { extensions: ["./index.ts"] } } });
    writeFileSync(join(root, "index.ts"), CODE);
    mkdirSync(join(root, "dist"));
    writeFileSync(join(root, "dist", "index.js"), CODE);
    const [typed] = (await discoverPlugins(places)).plugins;
    expect(typed?.package.entries).toEqual(["dist/index.js", "index.js", "index.ts"]);
  });
});

describe("a plugin that was found is loaded", () => {
  const state = async (config: object, place = "extensions", more: object = {}) => {
    const root = at(place, "notes", more);
    if (place === "named") places = { ...places, loadPaths: [root] };
    const [plugin] = (await discoverPlugins(places)).plugins;
    const activation = activationOf(plugin!, pluginsConfig.parse(config));
    return activation.isOn ? "on" : activation.reason;
  };
  const enabled = { entries: { notes: { enabled: true } } };

  it("only when the config turns it on", async () => {
    expect(await state({})).toBe("it is not enabled; run: openclaw plugins enable notes");
    expect(await state(enabled)).toBe("on");
    expect(await state({ allow: ["notes"] })).toBe("on");
    expect(await state({ slots: { contextEngine: "notes" } })).toBe("on");
    expect(await state({}, "named")).toBe("on");
  });

  it("unless the config denies, disables or does not allow it, or turns all plugins off", async () => {
    expect(await state({ ...enabled, deny: ["notes"] })).toBe("plugins.deny names it");
    expect(await state({ ...enabled, enabled: false })).toBe("plugins.enabled is false");
    expect(await state({ ...enabled, allow: ["other"] })).toBe("plugins.allow does not name it");
    const off = { entries: { notes: { enabled: false } }, slots: { contextEngine: "notes" } };
    expect(await state(off)).toBe("plugins.entries.notes.enabled is false");
    expect(await state({}, "workspace")).toContain("it is not enabled");
  });

  it("as the memory only when no other plugin is selected for that", async () => {
    const memory = { manifest: { kind: "memory" } };
    expect(await state({ ...enabled, slots: { memory: "other" } }, "extensions", memory)).toBe(
      "plugins.slots.memory is other",
    );
    expect(await state({ slots: { memory: "notes" } }, "extensions", memory)).toBe("on");
  });

  it("when it does not need a newer plugin API", async () => {
    const needs = (pluginApi: string) => ({
      package: { openclaw: { extensions: ["./index.js"], compat: { pluginApi } } },
    });
    expect(await state(enabled, "extensions", needs(">=2026.5.28 <2026.7.2-0"))).toBe("on");
    expect(await state(enabled, "extensions", needs(">=2027.1.0"))).toContain("it needs plugin API 2027.1.0 or later");
  });
});
