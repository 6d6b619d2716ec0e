import { expect, it } from "vitest";
import { z } from "zod";
import { keysFrom, setupErrorIn, setupFields } from "../../src/channels/setup.ts";
import { MESSAGE, turnKinds } from "../../src/dispatch/turn-kinds.ts";
import { Contributions } from "../../src/plugins/contributions.ts";
import { Hooks } from "../../src/plugins/hooks.ts";
import { systemClock } from "../../src/types/clock.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import { recordLog } from "../kit/log.ts";
import type { ChannelContribution, ContributionRegistry, Contributor } from "../../src/types/contribution.ts";

const MATRIX: ChannelContribution = {
  id: "matrix",
  label: "Matrix",
  config: async () => z.object({}),
  adapter: () => Promise.reject(new Error("not connected here")),
  setup: {
    flags: [
      {
        name: "accessToken",
        usage: "--access-token <token>",
        about: "the bot's token",
        key: "accessToken",
        label: "Access token",
        secret: { env: "MATRIX_TOKEN" },
        isRequired: true,
        shape: { pattern: /^syt_/, what: "Matrix's token begins with syt_", fix: "Element shows it." },
      },
    ],
    missing: ({ homeserver }) =>
      homeserver ? undefined : { key: "homeserver", message: "Matrix needs a homeserver.", fix: "Add it." },
  },
};

const matrix: Contributor = {
  id: "matrix",
  register(registry) {
    registry.addChannel(MATRIX);
    registry.addTurnKind({ ...MESSAGE, name: "matrix-invite" });
  },
};

it("one registration adds a channel with its flags and form, and a kind of turn", () => {
  const added = new Contributions([matrix]);
  expect(added.channels.map(({ id }) => id)).toEqual(["matrix"]);
  expect(turnKinds(added.turnKinds).isKnown({ options: { kind: "matrix-invite" } })).toBe(true);
  const field = { name: "accessToken", label: "Access token", secret: true, required: true, env: "MATRIX_TOKEN" };
  expect(setupFields(MATRIX)).toEqual([field]);
  expect([...keysFrom(MATRIX, [], true)]).toEqual([["accessToken", { source: "env", id: "MATRIX_TOKEN" }]]);
  expect(setupErrorIn(MATRIX, new Map([["accessToken", "x"]]), {})?.message).toContain("begins with syt_");
  expect(setupErrorIn(MATRIX, new Map([["accessToken", "syt_1"]]), {})?.key).toBe("homeserver");
  expect(() => keysFrom(MATRIX, [["botToken", "x"]], false)).toThrow("matrix has no flag --bot-token");
});

it("one registration adds a hook, which every run asks", async () => {
  const shaping: Contributor = {
    id: "tone",
    register: (registry) => registry.addHook("before_prompt_build", () => ({ prependContext: "Be brief." })),
  };
  const hooks = new Hooks(new Contributions([shaping]), systemClock, recordLog());
  const context = { agentId: agentId("main"), sessionKey: sessionKey("main"), sessionId: "s", workspaceDir: "/w" };
  const event = { prompt: "hello", messages: [] };
  const added = await hooks.ask({ name: "before_prompt_build", event, context }, (answer) => answer);
  expect(added).toEqual([{ prependContext: "Be brief." }]);
});

it("two contributors cannot add a channel of one name", () => {
  const other = { ...matrix, id: "other" };
  expect(() => new Contributions([matrix, other])).toThrow(
    'other adds the channel "matrix", which matrix has added already',
  );
});

it("what a contributor adds later counts until the contributor is removed", () => {
  let kept: ContributionRegistry | undefined;
  const added = new Contributions([{ id: "keeps", register: (registry) => void (kept = registry) }]);
  kept?.addChannel(MATRIX);
  expect(added.namesOf("keeps")).toEqual({ channels: ["matrix"] });
  added.remove("keeps");
  expect(added.channels).toEqual([]);
  expect(() => kept?.addChannel(MATRIX)).toThrow("keeps is not loaded any more");
  expect(() => kept?.addHook("agent_end", () => undefined)).toThrow("keeps is not loaded any more");
});

it("a contributor that registers again replaces what it had added", () => {
  const added = new Contributions([matrix]);
  added.add({ ...matrix, register: (registry) => registry.addHook("agent_end", () => undefined) });
  expect(added.namesOf("matrix")).toEqual({ hooks: ["agent_end"] });
});

it("a contributor that fails leaves nothing", () => {
  const added = new Contributions([]);
  const fails = (registry: ContributionRegistry) => {
    registry.addChannel(MATRIX);
    throw new Error("no token");
  };
  expect(() => added.add({ id: "fails", register: fails })).toThrow("no token");
  expect(added.namesOf("fails")).toEqual({});
});

it("a contributor that registers asynchronously or has the id of another one is found", async () => {
  const register = (): unknown => Promise.reject(new Error("no network"));
  expect(() => new Contributions([{ id: "waits", register }])).toThrow('"waits" registers asynchronously');
  const hooked: Contributor = { id: "hooked", register: (registry) => registry.addHook("agent_end", () => undefined) };
  expect(() => new Contributions([hooked, hooked])).toThrow('two contributors have the id "hooked"');
});

it.each(["Weather", "the weather", "__proto__", "1st", ""])("no command can be called %j", (name) => {
  const command = { name, help: "x", who: "anyone", run: async () => "x" } as const;
  const contributor: Contributor = { id: "weather", register: (registry) => registry.addCommand(command) };
  expect(() => new Contributions([contributor])).toThrow("no command can be called");
});

it.each(["get weather", "w".repeat(65), "wetter.heute", ""])("no tool can be called %j", (name) => {
  const contributor: Contributor = {
    id: "weather",
    register: (registry) => registry.addTool({ name, forRun: () => undefined }),
  };
  expect(() => new Contributions([contributor])).toThrow("no tool can be called");
});

it("several contributors add to the memory's section, after the one memory", () => {
  const section = (id: string, line: string, isSupplement = true) => ({ id, isSupplement, prompt: () => [line] });
  const contributions = new Contributions([
    { id: "wiki", register: (registry) => registry.addMemory(section("wiki", "The wiki too.")) },
    { id: "notes", register: (registry) => registry.addMemory(section("notes", "The notes too.")) },
    { id: "brain", register: (registry) => registry.addMemory(section("brain", "Ask the memory.", false)) },
  ]);
  const lines = () => contributions.memoryPrompt({ availableTools: new Set() });
  expect(lines()).toEqual(["Ask the memory.", "The wiki too.", "The notes too."]);
  contributions.remove("wiki");
  expect(lines()).toEqual(["Ask the memory.", "The notes too."]);
});

/** With a tool of each name, whose group says whose it is. */
const having = (id: string, names: readonly string[], memory?: Contributor["memory"]): Contributor => ({
  id,
  ...(memory && { memory }),
  register: (registry) => {
    for (const name of names) registry.addTool({ name, groups: [id], forRun: () => undefined });
  },
});

const ownersOf = (added: Contributions) => added.tools.map(({ name, groups = [] }) => `${name}: ${groups.join(" ")}`);

it("memories share names, and the slot decides which one has them, in either order", () => {
  const [core, other] = [having("core", ["memory_search"], "only"), having("other", ["memory_search", "add"], "also")];
  for (const contributors of [
    [core, other],
    [other, core],
  ]) {
    const added = new Contributions(contributors);
    const select = (memorySlot: string) => added.applyConfig({}, { stateDir: "/state", memorySlot });
    select("core");
    expect(ownersOf(added).toSorted()).toEqual(["add: other", "memory_search: core"]);
    select("other");
    expect(ownersOf(added).toSorted()).toEqual(["add: other", "memory_search: other"]);
    expect(added.namesOf("core")).toEqual({});
    // A list of tools may name it all the same.
    expect(added.toolNames.toSorted()).toEqual(["add", "memory_search"]);
    expect(() => added.add(having("third", ["memory_search"]))).toThrow("has added already");
    added.remove("other");
    expect(ownersOf(added)).toEqual([]);
    select("core");
    expect(ownersOf(added)).toEqual(["memory_search: core"]);
  }
});

it("a memory takes no name from a contributor that is none", () => {
  const added = new Contributions([having("weather", ["forecast"])]);
  expect(() => added.add(having("other", ["forecast"], "also"))).toThrow("weather has added already");
});

it("who is to be removed keeps its names until then, and gives them to who has added them meanwhile", () => {
  const added = new Contributions([having("old", ["note"])]);
  expect(() => added.add(having("new", ["note"]))).toThrow("old has added already");
  added.willRemove("old");
  added.add(having("new", ["note"]));
  expect(ownersOf(added)).toEqual(["note: old"]);
  added.remove("old");
  expect(ownersOf(added)).toEqual(["note: new"]);
});
