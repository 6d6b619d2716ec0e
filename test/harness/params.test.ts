import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfigText } from "../kit/config-text.ts";
import { resolveAgents } from "../../src/app/config/settings.ts";
import { callModel } from "../../src/providers/call.ts";
import { createModels } from "../../src/providers/catalog.ts";
import type { AgentSettings } from "../../src/types/settings.ts";
import { startFakeModel } from "../fakes/model.ts";
import { eventsOf, openRunFixture, userTurn, type RunFixture } from "../kit/run.ts";
import { MODEL, SPARE } from "../kit/models.ts";
import { settingsFor } from "../kit/settings.ts";

const load = (agents: unknown) => loadConfigText(JSON.stringify({ agents }), { path: "/x/openclaw.json", env: {} });
const paramsOf = async (agents: unknown): Promise<Pick<AgentSettings, "params">> => {
  const [agent] = resolveAgents((await load(agents)).config, { home: "/", stateDir: "/" });
  return { params: agent?.params ?? [] };
};

let fixture: RunFixture;
let asked = 0;
beforeEach(async () => {
  fixture = await openRunFixture();
});
afterEach(() => fixture.close());

/** What a model is asked with, beside its messages. */
async function askedWith(agents: unknown, ref = MODEL): Promise<unknown> {
  const settings = { ...settingsFor(fixture.dir), ...(await paramsOf(agents)) };
  asked += 1;
  await eventsOf(
    fixture.start({ settings, candidates: [ref], turn: userTurn(`ask ${asked}`, `turn-${asked}`) }).stream,
  );
  const { body, maxTokens } = fixture.model.calls.at(-1)!;
  return Object.assign({ most: maxTokens }, body);
}

describe("agents.*.params", () => {
  it("reach the model: temperature, top P and the limit of the answer", async () => {
    const params = { temperature: 0.2, topP: 0.9, maxTokens: 700 };
    expect(await askedWith({ defaults: { params } })).toMatchObject({ temperature: 0.2, top_p: 0.9, most: 700 });
  });

  it("are left to the model when unset", async () => {
    const sent = await askedWith({});
    expect(sent).not.toHaveProperty("temperature");
    expect(sent).not.toHaveProperty("top_p");
    expect(sent).toMatchObject({ most: 4096 });
  });

  it("ask for no longer answer than the model gives", async () => {
    expect(await askedWith({ defaults: { params: { maxTokens: 1_000_000 } } })).toMatchObject({ most: 4096 });
  });

  it("count in the order: of all, of a provider, of a model, of the agent, of the agent's model", async () => {
    const agents = {
      defaults: {
        params: { temperature: 0.1, topP: 0.1, maxTokens: 100 },
        models: {
          "fake/*": { params: { topP: 0.2 } },
          "fake/fake-1": { alias: "f", params: { maxTokens: 300 } },
          "other/x": { params: { temperature: 2 } },
        },
      },
      list: [{ id: "main", params: { temperature: 0.4 }, models: { "spare/*": { params: { temperature: 0.5 } } } }],
    };
    expect(await askedWith(agents)).toMatchObject({ temperature: 0.4, top_p: 0.2, most: 300 });
    expect(await askedWith(agents, SPARE)).toMatchObject({ temperature: 0.5, top_p: 0.1, most: 100 });
  });

  it.each<[unknown, RegExp]>([
    [{ defaults: { params: { temprature: 1 } } }, /agents\.defaults\.params\.temprature: unknown key/],
    [{ defaults: { params: { temperature: "hot" } } }, /agents\.defaults\.params\.temperature/],
    [{ defaults: { params: { topP: 0 } } }, /agents\.defaults\.params\.topP/],
    [{ list: [{ id: "a", params: { maxTokens: 1.5 } }] }, /agents\.list\[0\]\.params\.maxTokens/],
    [{ defaults: { models: { "a/b": { params: { temperature: 3 } } } } }, /models.*a\/b.*temperature/],
  ])("of a wrong name or kind are refused by name: %j", async (agents, why) => {
    await expect(load(agents)).rejects.toMatchObject({ message: expect.stringMatching(why) });
  });

  it("that other gateways know have no effect, and the config check says so", async () => {
    const { warnings } = await load({ defaults: { params: { cacheRetention: "long" } } });
    expect(warnings.map(({ text }) => text).join()).toContain("agents.defaults.params.cacheRetention: is known");
  });
});

describe("top P", () => {
  it.each([
    ["openai-completions", { top_p: 0.5, temperature: 0.3 }],
    ["openai-responses", { top_p: 0.5, temperature: 0.3 }],
    ["anthropic-messages", { top_p: 0.5, temperature: 0.3 }],
    ["google-generative-ai", { generationConfig: { topP: 0.5, temperature: 0.3 } }],
  ])("is where %s has it", async (api, sent) => {
    const fake = await startFakeModel();
    try {
      const peer = { baseUrl: fake.urlFor(api), api, apiKey: "k", models: [{ id: "peer-1" }] };
      const found = await createModels({ providers: { peer }, env: {}, probeLocal: false }).find({
        provider: "peer",
        id: "peer-1",
      });
      if ("missing" in found) throw new Error(found.missing);
      const ask = { messages: [{ role: "user" as const, content: "hello", timestamp: 1 }] };
      await callModel(found, ask, { origin: { cause: "probe" }, temperature: 0.3, added: { topP: 0.5 } }).result();
      expect(fake.calls.at(-1)?.body).toMatchObject(sent);
    } finally {
      await fake.close();
    }
  });
});
