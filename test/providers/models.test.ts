import http from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createModels, type ModelHandle, type Models } from "../../src/providers/catalog.ts";
import { KEYED_PROVIDERS } from "../../src/providers/keys.ts";
import { findLocalModel } from "../../src/providers/local.ts";
import type { AssistantMessage, ChatMessage, ModelRef } from "../../src/types/run/model.ts";
import { Secret } from "../../src/types/secret.ts";

const quietly = (env: Record<string, string>, providers = {}) => createModels({ providers, env, probeLocal: false });

async function handleOf(models: Models, ref: ModelRef): Promise<ModelHandle> {
  const found = await models.find(ref);
  if ("missing" in found) throw new Error(found.missing);
  return found;
}

describe("the model that is chosen", () => {
  it("is the configured one, then one by key in the order of preference, then the demo", async () => {
    const local = { local: { baseUrl: "http://127.0.0.1:1/v1", api: "openai-completions", models: [{ id: "mine" }] } };
    expect(await quietly({ ANTHROPIC_API_KEY: "k" }, local).choose()).toEqual({ provider: "local", id: "mine" });
    expect(await quietly({ OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k" }).choose()).toMatchObject({
      provider: "anthropic",
    });
    expect(await quietly({ OPENAI_API_KEY: "k", GROQ_API_KEY: "k" }).choose()).toMatchObject({ provider: "openai" });
    expect(await quietly({ OPENAI_API_KEY: "" }).choose()).toEqual({ provider: "demo", id: "echo-agent" });
  });

  it.each(KEYED_PROVIDERS)("exists for a key of $provider", async ({ provider, variables }) => {
    const models = quietly({ [variables.at(-1)!]: "k" });
    const ref = await models.choose();
    expect(ref.provider).toBe(provider);
    expect((await handleOf(models, ref)).apiKey).toBe("k");
  });
});

describe("a model by name", () => {
  it("has its limits from the catalogue", async () => {
    const { info } = await handleOf(quietly({ ANTHROPIC_API_KEY: "k" }), {
      provider: "anthropic",
      id: "claude-sonnet-4-5",
    });
    expect(info.contextWindow).toBeGreaterThanOrEqual(200_000);
    expect(info.input).toContain("image");
  });

  it("uses as much of its window as the config says, its own word before its provider's", async () => {
    const models = [{ id: "big", contextWindow: 90_000 }, { id: "own", contextTokens: 5000 }, { id: "plain" }];
    const providers = {
      mine: {
        baseUrl: "http://127.0.0.1:1/v1",
        api: "openai-completions",
        contextWindow: 40_000,
        contextTokens: 30_000,
        models,
      },
    };
    const windows = await Promise.all(
      models.map(
        async ({ id }) => (await handleOf(quietly({}, providers), { provider: "mine", id })).info.contextWindow,
      ),
    );
    expect(windows).toEqual([30_000, 5000, 30_000]);
  });

  it("is usable though the catalogue does not know its id", async () => {
    const { info, pi } = await handleOf(quietly({ OPENAI_API_KEY: "k" }), { provider: "openai", id: "gpt-99-future" });
    expect([info.id, pi.baseUrl]).toEqual(["gpt-99-future", "https://api.openai.com/v1"]);
    expect(info.contextWindow).toBeGreaterThan(0);
  });

  it("takes limits, address, headers and key from the config", async () => {
    const settings = {
      baseUrl: "https://models.example/v1",
      api: "openai-completions",
      apiKey: new Secret("from-config"),
      headers: { "x-team": new Secret("red") },
      models: [{ id: "big", contextWindow: 7000, maxTokens: 70, reasoning: true, input: ["text", "image"] as const }],
    };
    const handle = await handleOf(quietly({}, { own: settings }), { provider: "own", id: "big" });
    expect(handle.info).toMatchObject({
      contextWindow: 7000,
      maxTokens: 70,
      reasoning: true,
      input: ["text", "image"],
    });
    expect([handle.apiKey, handle.pi.baseUrl, handle.pi.headers]).toEqual([
      "from-config",
      "https://models.example/v1",
      { "x-team": "red" },
    ]);
  });

  it("needs no key on this machine", async () => {
    const settings = { baseUrl: "http://localhost:9/v1", api: "openai-completions" };
    expect((await handleOf(quietly({}, { own: settings }), { provider: "own", id: "x" })).apiKey).not.toBe("");
  });

  it.each(["http://localhost:9", "http://localhost:9/", "http://localhost:9/v1", "http://localhost:9/v1/"])(
    "of Ollama is asked as OpenAI's (%s)",
    async (baseUrl) => {
      const { pi } = await handleOf(quietly({}, { own: { baseUrl, api: "ollama" } }), { provider: "own", id: "x" });
      expect([pi.api, pi.baseUrl]).toEqual(["openai-completions", "http://localhost:9/v1"]);
    },
  );

  it("is one that the config names, where its providers take the catalogue's place", async () => {
    const own = { baseUrl: "http://localhost:9/v1", api: "openai-completions", models: [{ id: "x" }] };
    const env = { ANTHROPIC_API_KEY: "k" };
    const only = createModels({ providers: { own }, mode: "replace", env, probeLocal: false });
    const listed = (await only.list()).map(({ provider, id }) => `${provider}/${id}`);
    expect(listed).toEqual(["own/x", "demo/echo-agent"]);
    expect(await only.find({ provider: "anthropic", id: "claude-sonnet-4-6" })).toHaveProperty("missing");
    expect(await only.choose()).toEqual({ provider: "own", id: "x" });
    const none = createModels({ providers: {}, mode: "replace", env, probeLocal: false });
    expect(await none.choose()).toEqual({ provider: "demo", id: "echo-agent" });
  });

  it("names what is missing: the variable of the key, or the provider", async () => {
    const models = quietly({});
    expect(await models.find({ provider: "mistral", id: "mistral-large-latest" })).toEqual({
      missing: expect.stringContaining("MISTRAL_API_KEY"),
    });
    expect(await models.find({ provider: "nobody", id: "x" })).toEqual({
      because: "model_missing",
      missing: expect.stringContaining('"nobody"'),
    });
  });

  it("is listed with the providers that have a key, and the demo", async () => {
    const listed = await quietly({ ANTHROPIC_API_KEY: "k" }).list();
    expect(new Set(listed.map((model) => model.provider))).toEqual(new Set(["anthropic", "demo"]));
  });
});

describe("a server on this machine", () => {
  const servers: http.Server[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });
  const serve = async (body: unknown, status = 200) => {
    const server = http.createServer((_, response) =>
      response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body)),
    );
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  };
  const NOBODY = "http://127.0.0.1:9/v1";
  /** A busy machine may take long: what is asked here answers, or refuses the connection. */
  const PATIENT_MS = 60_000;
  const find = (at: Parameters<typeof findLocalModel>[0]) => findLocalModel(at, PATIENT_MS);

  it("is found by its models, of which one that chats is taken", async () => {
    const baseUrl = await serve({ data: [{ id: "nomic-embed-text" }, { id: "llama3.2" }] });
    expect(
      await find([
        { provider: "lmstudio", baseUrl: NOBODY },
        { provider: "ollama", baseUrl },
      ]),
    ).toEqual({ provider: "ollama", baseUrl, id: "llama3.2" });
  });

  it.each([
    ["no JSON", "<html>"],
    ["another shape", { data: [{ name: "x" }, null] }],
    ["nothing to chat with", { data: [{ id: "whisper-1" }] }],
  ])("is passed over when it says %s", async (_, body) => {
    expect(await find([{ provider: "x", baseUrl: await serve(body) }])).toBeUndefined();
  });

  it("is passed over when it fails or is not there", async () => {
    expect(
      await find([
        { provider: "x", baseUrl: await serve({}, 500) },
        { provider: "y", baseUrl: NOBODY },
      ]),
    ).toBeUndefined();
  });

  it("is found though it comes up later than the gateway", async () => {
    const localServers = [{ provider: "ollama", baseUrl: NOBODY }];
    const models = createModels({ providers: {}, env: {}, localServers, probeMs: PATIENT_MS });
    expect(await models.choose()).toMatchObject({ provider: "demo" });
    expect(await models.find({ provider: "ollama", id: "llama3.2" })).toHaveProperty("missing");
    localServers[0] = { provider: "ollama", baseUrl: await serve({ data: [{ id: "llama3.2" }] }) };
    expect(await models.choose()).toMatchObject({ provider: "ollama", id: "llama3.2" });
    expect((await handleOf(models, { provider: "ollama", id: "llama3.2" })).pi.baseUrl).toContain("127.0.0.1");
  });

  it("is passed over when it does not answer in time", async () => {
    const silent = http.createServer(() => undefined);
    servers.push(silent);
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const baseUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/v1`;
    expect(await findLocalModel([{ provider: "x", baseUrl }], 1)).toBeUndefined();
  });
});

describe("the demo model", () => {
  const user = (text: string): ChatMessage => ({ role: "user", content: text, timestamp: 1 });
  const tools = ["ls", "read", "exec"].map((name) => ({ name, description: name, parameters: {} }));

  async function ask(...messages: ChatMessage[]): Promise<AssistantMessage> {
    const handle = await handleOf(quietly({}), { provider: "demo", id: "echo-agent" });
    const context = { systemPrompt: "", messages, tools } as Parameters<ModelHandle["openStream"]>[1];
    return (await handle.openStream(handle.pi, context).result()) as AssistantMessage;
  }
  const textOf = (message: AssistantMessage) =>
    message.content.map((part) => (part.type === "text" ? part.text : "")).join("");

  it.each([
    ["list the files", { name: "ls", arguments: { path: "." } }],
    ["List files in src", { name: "ls", arguments: { path: "src" } }],
    ["read README.md", { name: "read", arguments: { path: "README.md" } }],
    ["run date -u", { name: "exec", arguments: { command: "date -u" } }],
  ])("calls a real tool on %s", async (said, call) => {
    const answer = await ask(user(said));
    expect(answer.stopReason).toBe("toolUse");
    expect(answer.content).toMatchObject([{ type: "toolCall", ...call }]);
  });

  it("says that it is a demo in its first answer only", async () => {
    const first = await ask(user("hi"));
    expect(textOf(first)).toMatch(/You said: hi[^]*demo model[^]*ANTHROPIC_API_KEY/);
    expect(textOf(await ask(user("hi"), first, user("again")))).toBe("You said: again");
  });

  it("echoes the user's words without the metadata before them", async () => {
    const text = 'Conversation info (untrusted metadata):\n```json\n{"a":1}\n```\n\nhello there';
    expect(textOf(await ask(user(text)))).toMatch(/^You said: hello there/);
  });

  const result: ChatMessage = {
    role: "toolResult",
    toolCallId: "c",
    toolName: "ls",
    content: [{ type: "text", text: "a.txt" }],
    isError: false,
    timestamp: 1,
  };

  it("says so too when the first thing it did was calling a tool", async () => {
    const call = await ask(user("list the files"));
    const first = await ask(user("list the files"), call, result);
    expect(textOf(first)).toMatch(/a\.txt[^]*demo model/);
    expect(textOf(await ask(user("list the files"), call, result, first, user("more")))).toBe("You said: more");
  });

  it("shows what a tool returned", async () => {
    expect(textOf(await ask(user("list the files"), result))).toContain("a.txt");
    expect(textOf(await ask(user("list the files"), { ...result, isError: true }))).toContain("did not work");
  });
});
