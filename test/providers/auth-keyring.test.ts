import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { registerOAuthProvider, unregisterOAuthProvider } from "@mariozechner/pi-ai/oauth";
import { describe, expect, it, onTestFinished } from "vitest";
import { Credentials } from "../../src/providers/auth/credentials.ts";
import type { Credential } from "../../src/providers/auth/credential.ts";
import { createModels, type ModelOptions, type Models } from "../../src/providers/catalog.ts";
import { authConfig } from "../../src/providers/config.ts";
import type { ProfileWish } from "../../src/types/auth.ts";
import type { ModelRef } from "../../src/types/run/model.ts";
import { Secret } from "../../src/types/secret.ts";
import { until } from "../kit/until.ts";
import { silentLog, stoppedClock } from "./stage.ts";

const MINUTE = 60_000;
const REF: ModelRef = { provider: "own", id: "m" };
const own = { baseUrl: "https://models.example/v1", api: "openai-completions", models: [{ id: "m" }] };

const apiKey = (key: string): Credential => ({ type: "api_key", provider: "own", key: new Secret(key) });
const token = (text: string, expires?: number): Credential => ({
  type: "token",
  provider: "own",
  token: new Secret(text),
  ...(expires !== undefined && { expires }),
});
const login = (access: string, expires: number, more: Record<string, unknown> = {}): Credential => ({
  type: "oauth",
  provider: "own",
  access: new Secret(access),
  refresh: new Secret(`refresh of ${access}`),
  expires,
  more,
});

async function stage(
  stored: Record<string, Credential> = {},
  options: Partial<ModelOptions> & { order?: string[] } = {},
) {
  const dir = await mkdtemp(join(tmpdir(), "openclaw-keyring-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const credentials = new Credentials(dir);
  for (const [id, credential] of Object.entries(stored)) await credentials.put(id, credential);
  const clock = stoppedClock();
  const log = silentLog();
  const make = (more: Partial<ModelOptions> = {}): Models =>
    createModels({
      providers: { own },
      env: {},
      probeLocal: false,
      auth: authConfig.parse({ order: options.order ? { own: options.order } : {} }),
      credentials,
      clock,
      log: log.log,
      ...options,
      ...more,
    });
  return { dir, credentials, clock, log, models: make(), make };
}

const idsOf = async (models: Models, wish: ProfileWish = {}, ref = REF) =>
  (await models.keys.order(ref, wish)).map(({ profile }) => profile.id);
const statesOf = async (models: Models, wish: ProfileWish = {}, ref = REF) =>
  (await models.keys.order(ref, wish)).map(({ profile, state }) => `${profile.id} ${state.kind}`);

async function keyOf(models: Models, id?: string, ref = REF): Promise<string> {
  const found = await models.find(ref, id);
  return "missing" in found ? found.missing : found.apiKey;
}

describe("which keys a provider has", () => {
  it("the demo, a server on this machine, the config and the environment each have one", async () => {
    const providers = {
      here: { baseUrl: "http://127.0.0.1:9/v1", api: "openai-completions" },
      own: { ...own, apiKey: new Secret("from-config") },
    };
    const env = { OPENAI_API_KEY: "from-env", ANTHROPIC_OAUTH_TOKEN: "tok", AWS_PROFILE: "work" };
    const { models } = await stage({}, { providers, env });
    const one = async (provider: string) => (await models.keys.order({ provider, id: "m" }, {}))[0]?.profile;
    expect(await one("demo")).toEqual({ id: "demo:none", provider: "demo", mode: "none" });
    expect(await one("here")).toEqual({ id: "here:none", provider: "here", mode: "none" });
    expect(await one("own")).toEqual({ id: "own:config", provider: "own", mode: "api_key" });
    expect(await one("openai")).toEqual({ id: "openai:env", provider: "openai", mode: "api_key" });
    expect(await one("anthropic")).toEqual({ id: "anthropic:env", provider: "anthropic", mode: "token" });
    expect(await one("amazon-bedrock")).toEqual({
      id: "amazon-bedrock:env",
      provider: "amazon-bedrock",
      mode: "aws-sdk",
    });
    expect([await one("mistral"), await one("nobody")]).toEqual([undefined, undefined]);
  });

  it("a stored key goes before the config's, that before the environment's, and each can be named", async () => {
    const providers = { openai: { apiKey: new Secret("of-config") } };
    const { models, credentials } = await stage({}, { providers, env: { OPENAI_API_KEY: "of-env" } });
    await credentials.put("openai:a", { type: "api_key", provider: "openai", key: new Secret("stored") });
    const ref = { provider: "openai", id: "gpt-5.4" };
    expect(await idsOf(models, {}, ref)).toEqual(["openai:a", "openai:config", "openai:env"]);
    const keys = ["openai:a", "openai:config", "openai:env", undefined].map((id) => keyOf(models, id, ref));
    expect(await Promise.all(keys)).toEqual(["stored", "of-config", "of-env", "stored"]);
    expect(await keyOf(models, "openai:gone", ref)).toContain('"openai:gone"');
  });

  it("a stored key makes its provider the one that is chosen and listed", async () => {
    const { models, credentials, make } = await stage({}, { providers: {} });
    expect((await models.choose()).provider).toBe("demo");
    await credentials.put("groq:a", { type: "api_key", provider: "groq", key: new Secret("k") });
    expect((await make().choose()).provider).toBe("groq");
    expect(new Set((await models.list()).map(({ provider }) => provider))).toEqual(new Set(["groq", "demo"]));
    const all = await models.list("all");
    expect(all.find(({ provider }) => provider === "anthropic")?.available).toBe(false);
    expect(all.find(({ provider }) => provider === "groq")?.available).toBe(true);
  });

  it("a login alone chooses its provider", async () => {
    const { models, credentials } = await stage({}, { providers: {} });
    await credentials.put("openai-codex:me", { ...login("a", 9e15), provider: "openai-codex" });
    const ref = await models.choose();
    expect(ref.provider).toBe("openai-codex");
    expect(await models.find(ref)).toMatchObject({ profile: { id: "openai-codex:me", mode: "oauth" } });
  });

  it("a broken file is reported once and leaves the other keys in use", async () => {
    const { models, credentials, log } = await stage({}, { providers: { own: { ...own, apiKey: "c" } } });
    await writeFile(credentials.path, '{"hush');
    expect([await keyOf(models), await idsOf(models)]).toEqual(["c", ["own:config"]]);
    expect(log.lines).toEqual(["the stored keys cannot be used"]);
    expect(log.text()).not.toContain("hush");
  });

  it("a key that is not what the config says, or is over, is left out", async () => {
    const auth = authConfig.parse({
      profiles: {
        "own:key": { provider: "own", mode: "oauth" },
        "own:token": { provider: "own", mode: "oauth", displayName: "Ann" },
      },
    });
    const { models, clock } = await stage(
      { "own:key": apiKey("k"), "own:token": token("t", stoppedClock().now() + MINUTE) },
      { auth },
    );
    expect(await models.find(REF)).toMatchObject({ profile: { id: "own:token", displayName: "Ann" } });
    clock.pass(MINUTE);
    expect(await models.find(REF)).toMatchObject({
      missing: expect.stringContaining("models auth add --provider own"),
    });
  });
});

describe("whose turn it is", () => {
  const three = { "own:k1": apiKey("k1"), "own:k2": apiKey("k2"), "own:t": token("t"), "own:o": login("o", 9e15) };

  it("logins before tokens before keys, the one asked longest ago first within a kind", async () => {
    const { models, clock } = await stage(three);
    expect(await idsOf(models)).toEqual(["own:o", "own:t", "own:k1", "own:k2"]);
    models.keys.succeeded(REF, "own:k1");
    clock.pass(1);
    expect(await idsOf(models)).toEqual(["own:o", "own:t", "own:k2", "own:k1"]);
    models.keys.succeeded(REF, "own:k2");
    expect(await idsOf(models)).toEqual(["own:o", "own:t", "own:k1", "own:k2"]);
  });

  it("as a person ordered, in the config before the file", async () => {
    const { models, credentials, make } = await stage(three);
    await credentials.setOrder("own", ["own:k2", "own:t"]);
    expect(await idsOf(models)).toEqual(["own:k2", "own:t"]);
    const auth = authConfig.parse({ order: { own: ["own:k1", "own:gone", "own:o"] } });
    expect(await idsOf(make({ auth }))).toEqual(["own:k1", "own:o"]);
  });

  it("the session's last one first while it is ready; a pin is alone", async () => {
    const { models } = await stage(three);
    expect(await idsOf(models, { last: "own:k2" })).toEqual(["own:k2", "own:o", "own:t", "own:k1"]);
    models.keys.failed(REF, "own:k2", { kind: "rate_limit" });
    expect(await idsOf(models, { last: "own:k2" })).toEqual(["own:o", "own:t", "own:k1", "own:k2"]);
    expect(await statesOf(models, { pinned: "own:k2" })).toEqual(["own:k2 cooling"]);
    expect(await idsOf(models, { pinned: "own:gone", last: "own:t" })).toEqual([]);
    expect(await idsOf(models, { pinned: "other:x" })).toHaveLength(4);
  });

  it("those with a cooldown come last, the soonest back first, and are not taken unless asked for", async () => {
    const { models } = await stage({ "own:k1": apiKey("k1"), "own:k2": apiKey("k2"), "own:k3": apiKey("k3") });
    models.keys.failed(REF, "own:k1", { kind: "billing" });
    models.keys.failed(REF, "own:k2", { kind: "rate_limit" });
    expect(await statesOf(models)).toEqual(["own:k3 ready", "own:k2 cooling", "own:k1 cooling"]);
    expect([await keyOf(models), await keyOf(models, "own:k1")]).toEqual(["k3", "k1"]);
    models.keys.failed(REF, "own:k3", { kind: "auth" });
    expect(await keyOf(models)).toBe("k2");
  });

  it("a cooldown at one model leaves the key usable at another", async () => {
    const { models } = await stage({ "own:k1": apiKey("k1") });
    models.keys.failed(REF, "own:k1", { kind: "auth" });
    expect(await statesOf(models)).toEqual(["own:k1 cooling"]);
    expect(await statesOf(models, {}, { provider: "own", id: "other" })).toEqual(["own:k1 ready"]);
  });

  it("one caller alone probes whether a cooldown is over", async () => {
    const { models, clock } = await stage({ "own:k1": apiKey("k1") });
    models.keys.failed(REF, "own:k1", { kind: "overloaded" });
    clock.pass(MINUTE);
    const states = (await Promise.all([1, 2, 3].map(() => statesOf(models)))).flat();
    expect(states.toSorted()).toEqual(["own:k1 cooling", "own:k1 cooling", "own:k1 probe"]);
    models.keys.released(REF, "own:k1");
    expect(await statesOf(models)).toEqual(["own:k1 probe"]);
    models.keys.succeeded(REF, "own:k1");
    expect(await statesOf(models)).toEqual(["own:k1 ready"]);
  });
});

describe("a login", () => {
  /** A provider whose logins are renewed here; what a renewal does can be changed. */
  function loginServer(renew: (refresh: string) => Promise<{ access: string; refresh: string; expires: number }>) {
    const asked: string[] = [];
    registerOAuthProvider({
      id: "own",
      name: "Own",
      login: () => Promise.reject(new Error("not asked for here")),
      async refreshToken({ refresh, ...others }) {
        asked.push(refresh);
        return { ...others, ...(await renew(refresh)) };
      },
      getApiKey: ({ access }) => `Bearer ${access}`,
      modifyModels: (all, { host }) =>
        all.map((model) => ({ ...model, baseUrl: typeof host === "string" ? host : model.baseUrl })),
    });
    onTestFinished(() => unregisterOAuthProvider("own"));
    return asked;
  }
  const later = stoppedClock().now() + 60 * MINUTE;

  it("is used as it is while it lasts, at the address it belongs to", async () => {
    const asked = loginServer(() => Promise.reject(new Error("no")));
    const { models } = await stage({ "own:me": login("a1", later, { host: "https://mine.example" }) });
    expect(await models.find(REF)).toMatchObject({ apiKey: "Bearer a1", pi: { baseUrl: "https://mine.example" } });
    expect(asked).toEqual([]);
  });

  it("is renewed once by many, in this process and others, and written before it is used", async () => {
    const { promise: answer, resolve } = Promise.withResolvers<void>();
    const asked = loginServer(async () => {
      await answer;
      return { access: "a2", refresh: "r2", expires: later + 60 * MINUTE };
    });
    const { models, make, dir, credentials, clock } = await stage({ "own:me": login("a1", later, { accountId: "x" }) });
    clock.pass(60 * MINUTE);
    const elsewhere = make({ credentials: new Credentials(dir) });
    const keys = [models, models, elsewhere, elsewhere].map((each) => keyOf(each));
    resolve();
    expect(await Promise.all(keys)).toEqual(Array(4).fill("Bearer a2"));
    expect(asked).toEqual(["refresh of a1"]);
    const kept = (await credentials.read()).profiles.get("own:me");
    expect(kept).toMatchObject({ type: "oauth", expires: later + 60 * MINUTE, more: { accountId: "x" } });
    expect(kept?.type === "oauth" && kept.refresh.reveal()).toBe("r2");
  });

  it.each([
    ["removed", undefined],
    ["replaced", login("a3", later * 2)],
  ])("that a person has %s during its renewal stays so", async (_how, instead) => {
    const { promise: answer, resolve } = Promise.withResolvers<void>();
    const asked = loginServer(async () => {
      await answer;
      return { access: "a2", refresh: "r2", expires: later * 2 };
    });
    const { models, credentials, clock } = await stage({ "own:me": login("a1", later) });
    clock.pass(60 * MINUTE);
    const found = models.find(REF, "own:me");
    await until(() => asked.length === 1);
    await (instead ? credentials.put("own:me", instead) : credentials.remove("own:me"));
    resolve();
    expect(await found).toMatchObject(instead ? { apiKey: "Bearer a3" } : { missing: 'The login "own:me" is gone.' });
    const kept = (await credentials.read()).profiles.get("own:me");
    expect(kept?.type === "oauth" ? kept.access.reveal() : kept).toBe(instead && "a3");
  });

  it.each([
    ["HTTP request failed. status=400; body={refresh_token: hush}", "auth", "HTTP 400"],
    ["HTTP request failed. status=503; body=hush", "network", "HTTP 503"],
    ["fetch failed hush", "network", "no usable answer"],
  ])("that is not renewed says why without its secrets: %s", async (words, because, told) => {
    loginServer(() => Promise.reject(new Error(words)));
    const { models, clock, log } = await stage({ "own:me": login("hush-a1", later) });
    clock.pass(60 * MINUTE);
    const found = await models.find(REF, "own:me");
    expect(found).toMatchObject({ because, missing: expect.stringContaining(told) });
    expect(JSON.stringify(found) + log.text()).not.toContain("hush");
  });

  it.skipIf(process.platform === "win32" || process.getuid?.() === 0)(
    "is not renewed while the file cannot be written: its old token would be used up",
    async () => {
      const asked = loginServer(async () => ({ access: "a2", refresh: "r2", expires: later * 2 }));
      const { models, clock, dir, log } = await stage({ "own:me": login("hush-a1", later) });
      clock.pass(60 * MINUTE);
      await chmod(dir, 0o500);
      onTestFinished(() => chmod(dir, 0o700));
      expect(await models.find(REF)).toMatchObject({ missing: expect.stringContaining("cannot be written") });
      expect([asked, log.lines]).toEqual([[], ["a login was not renewed"]]);
    },
  );

  it("that is not renewed leaves the next key in use", async () => {
    loginServer(() => Promise.reject(new Error("status=401")));
    const { models, clock } = await stage({ "own:me": login("a1", later), "own:k": apiKey("k") });
    clock.pass(60 * MINUTE);
    expect(await keyOf(models)).toBe("k");
  });
});

describe("another secret under the same name", () => {
  const stateOf = async (models: Models) => (await models.keys.order(REF, {}))[0]?.state.kind;

  it("ends what the old one was refused for, and nothing else", async () => {
    const { models, credentials } = await stage({ "own:work": apiKey("the-old-secret-key") });
    await stateOf(models);
    models.keys.failed(REF, "own:work", { kind: "billing" });
    models.keys.failed(REF, "own:work", { kind: "rate_limit" });
    expect(await stateOf(models)).toBe("cooling");
    await credentials.put("own:work", apiKey("the-new-secret-key"));
    expect((await models.keys.order(REF, {}))[0]?.state).toMatchObject({ kind: "cooling", because: "rate_limit" });
  });

  it("is asked at once", async () => {
    const { models, credentials } = await stage({ "own:work": apiKey("the-old-secret-key") });
    await stateOf(models);
    models.keys.failed(REF, "own:work", { kind: "auth" });
    await credentials.put("own:work", apiKey("the-old-secret-key"));
    expect(await stateOf(models)).toBe("cooling");
    await credentials.put("own:work", apiKey("the-new-secret-key"));
    expect(await stateOf(models)).toBe("ready");
  });
});
