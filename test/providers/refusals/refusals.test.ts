import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { POLICY } from "../../../src/harness/failover/policy.ts";
import { isCooldownKind } from "../../../src/providers/auth/cooldown-length.ts";
import { callModel, type CallFacts } from "../../../src/providers/call.ts";
import { createModels } from "../../../src/providers/catalog.ts";
import { classifyFailure } from "../../../src/providers/failure.ts";
import { startFakeModel, type FakeModel } from "../../fakes/model.ts";
import { HOSTS } from "./cases/hosts.ts";
import { MAKERS } from "./cases/makers.ts";
import { SERVERS } from "./cases/servers.ts";
import { UNKNOWN } from "./cases/unknown.ts";
import type { RefusalCase } from "./shapes.ts";

const REFUSALS = [...MAKERS, ...HOSTS, ...SERVERS];

let fake: FakeModel;
beforeAll(async () => {
  fake = await startFakeModel();
});
afterAll(() => fake.close());

/** The failure that a server's answer becomes on its way through the SDK. */
async function failureOf({ api, status, body }: Omit<RefusalCase, "kind">, text?: string) {
  const raw = { status, headers: { "content-type": "application/json" }, body: text ?? JSON.stringify(body) };
  fake.answer(() => ({ raw }));
  const models = createModels({
    providers: { peer: { baseUrl: fake.urlFor(api), api, apiKey: "sk-0123456789", models: [{ id: "peer-1" }] } },
    env: {},
    probeLocal: false,
  });
  const handle = await models.find({ provider: "peer", id: "peer-1" });
  if ("missing" in handle) throw new Error(handle.missing);
  let facts: CallFacts = {};
  const ask = { messages: [{ role: "user" as const, content: "hello", timestamp: 1 }] };
  const message = await callModel(handle, ask, {
    origin: { cause: "probe" },
    onFacts: (seen) => (facts = seen),
  }).result();
  return classifyFailure(message.errorMessage ?? "", facts);
}

const textOf = ({ body }: { readonly body: unknown }) => (typeof body === "string" ? body : undefined);

describe("a refusal is taken for what it is", () => {
  it.each(REFUSALS)("$provider $status: $kind ($source)", async (refused) => {
    const { message, retryAfterMs: _wait, requestBytes, ...failure } = await failureOf(refused, textOf(refused));
    expect(failure).toEqual({ kind: refused.kind, ...refused.figures });
    expect(requestBytes !== undefined).toBe(refused.kind === "request_size");
    expect(message).toMatch(new RegExp(`^${refused.status} \\S`));
    expect(message).not.toContain("no body");
    expect(message).not.toContain("\n");
  });
});

describe("a refusal that no row knows", () => {
  it.each(UNKNOWN)("of $provider keeps its text, starts no cooldown and no compaction", async (refused) => {
    const { kind, message } = await failureOf(refused, textOf(refused));
    expect(message).toContain("The tea is cold today");
    expect(kind).toBe("format");
    expect(isCooldownKind(kind)).toBe(false);
    expect(POLICY[kind].map(([remedy]) => remedy)).not.toContain("compact");
  });

  it("and that has no words is no overflow", async () => {
    const silent = { provider: "any", api: "openai-completions", status: 400, body: "", source: "" } as const;
    expect(await failureOf(silent, "")).toMatchObject({ kind: "format", message: "400 without a reason" });
    expect(await failureOf(silent, "{}")).toMatchObject({ kind: "format" });
  });

  it("shows one line without keys, however long it is", async () => {
    const said = `bad\nkey sk-ant-api03-${"x".repeat(40)} ${"word ".repeat(4000)}`;
    const { message } = await failureOf({ ...UNKNOWN[0]!, body: { detail: said } });
    expect(message).toContain("bad key [secret]");
    expect(message.length).toBeLessThan(420);
  });
});

describe("a word in an address", () => {
  it("says nothing of the failure", () => {
    const text = "400 This cannot be done, see https://example.com/settings/billing?rate_limit=forbidden";
    expect(classifyFailure(text, { status: 400 }).kind).toBe("format");
  });
});

describe("an error in the middle of a stream", () => {
  it("counts by the code that it brings", async () => {
    const chunk = { id: "gen-1", object: "chat.completion.chunk", choices: [] };
    const error = { code: 502, message: "Provider disconnected" };
    const last = { ...chunk, error, choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }] };
    fake.answer(() => ({
      raw: {
        status: 200,
        headers: { "content-type": "text/event-stream" },
        body: `data: ${JSON.stringify(chunk)}\n\ndata: ${JSON.stringify(last)}\n\n`,
      },
    }));
    const api = "openai-completions";
    const models = createModels({
      providers: { peer: { baseUrl: fake.urlFor(api), api, apiKey: "sk-0123456789", models: [{ id: "peer-1" }] } },
      env: {},
      probeLocal: false,
    });
    const handle = await models.find({ provider: "peer", id: "peer-1" });
    if ("missing" in handle) throw new Error(handle.missing);
    let facts: CallFacts = {};
    const ask = { messages: [{ role: "user" as const, content: "hello", timestamp: 1 }] };
    const message = await callModel(handle, ask, {
      origin: { cause: "probe" },
      onFacts: (seen) => (facts = seen),
    }).result();
    // https://openrouter.ai/docs/api-reference/streaming
    expect(classifyFailure(message.errorMessage ?? "", facts)).toMatchObject({
      kind: "network",
      message: expect.stringContaining("Provider disconnected"),
    });
  });
});
