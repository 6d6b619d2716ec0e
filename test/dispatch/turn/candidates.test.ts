import { expect, test } from "vitest";
import { resolveAgents } from "../../../src/app/config/settings.ts";
import { configSchema } from "../../../src/app/config/schema/schema.ts";
import { candidatesFor } from "../../../src/dispatch/candidates.ts";
import { modelName } from "../../../src/types/run/model.ts";
import type { SessionEntry } from "../../../src/types/session.ts";
import { nextMessage } from "../../kit/inbound.ts";

const models = { of: () => ({ choose: async () => ({ provider: "found", id: "here" }) }) };

/** The models of a run, in their order, with this config. */
async function order(agents: object, chosen: Partial<SessionEntry> = {}, model?: string): Promise<readonly string[]> {
  const [agent] = resolveAgents(configSchema.parse({ agents }), { home: "/home", stateDir: "/state" });
  const entry = { sessionId: "s", updatedAt: 0, ...chosen };
  const asked = model === undefined ? undefined : nextMessage("hi", "1", { options: { model } });
  return (await candidatesFor({ message: asked }, { entry }, agent!, { models })).map(modelName);
}

const DEFAULTS = { model: { primary: "a/first", fallbacks: ["b/second", "c/third"] } };
const MINE = { providerOverride: "m", modelOverride: "mine" };

test.each([
  ["the agent's own, then its fallbacks", { defaults: DEFAULTS }, {}, ["a/first", "b/second", "c/third"]],
  [
    "an agent that only names a model has the shared fallbacks, and the shared model last",
    { defaults: DEFAULTS, list: [{ id: "x", model: "d/own" }] },
    {},
    ["d/own", "b/second", "c/third", "a/first"],
  ],
  [
    "an agent that gives no fallbacks on purpose has none",
    { defaults: DEFAULTS, list: [{ id: "x", model: { primary: "d/own", fallbacks: [] } }] },
    {},
    ["d/own"],
  ],
  ["a person's choice comes first", { defaults: DEFAULTS }, MINE, ["m/mine", "b/second", "c/third", "a/first"]],
  [
    "each model once",
    { defaults: DEFAULTS },
    { providerOverride: "b", modelOverride: "second" },
    ["b/second", "c/third", "a/first"],
  ],
  [
    "a key of a person's choice is asked alone",
    { defaults: DEFAULTS },
    { ...MINE, authProfileOverrideSource: "user" as const },
    ["m/mine"],
  ],
  ["nothing configured: what is there", {}, {}, ["found/here"]],
])("%s", async (_name, agents, chosen, expected) => {
  expect(await order(agents, chosen)).toEqual(expected);
});

test("the message's own choice goes before the session's", async () => {
  expect(await order({ defaults: DEFAULTS }, MINE, "n/now")).toEqual(["n/now", "b/second", "c/third", "a/first"]);
});
