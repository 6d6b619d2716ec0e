import { existsSync, readdirSync, readFileSync, statSync, writeFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import JSON5 from "json5";
import { describe, expect, onTestFinished, test } from "vitest";
import { startFakeModel, type FakeModel } from "../../../fakes/model.ts";
import { ODD_SERVERS, oddServer } from "../../onboard/odd-servers.ts";
import { run, stateDir, type Env } from "../../../kit/gateway/cli.ts";

const BASE = ["onboard", "--non-interactive", "--accept-risk", "--skip-health"];
const KEY = "sk-test-0123456789";

async function fakeModel(): Promise<FakeModel> {
  const model = await startFakeModel();
  onTestFinished(() => model.close());
  return model;
}

/** A server that takes one key, and says why it refuses another. */
async function guardedModel(): Promise<FakeModel> {
  const model = await fakeModel();
  model.answer((call) => (call.key === KEY ? { text: "OK" } : { status: 401, message: "Incorrect API key provided" }));
  return model;
}

function stage(config?: string, more: Env = {}) {
  const dir = stateDir(config);
  const env = { OPENCLAW_STATE_DIR: dir, ...more };
  const configPath = join(dir, "openclaw.json");
  const keysPath = join(dir, "credentials", "auth-profiles.json");
  return {
    dir,
    env,
    cli: (...args: readonly string[]) => run([...BASE, ...args], env),
    text: () => (existsSync(configPath) ? readFileSync(configPath, "utf8") : undefined),
    config: () => JSON5.parse(readFileSync(configPath, "utf8")),
    keys: () => (existsSync(keysPath) ? JSON.parse(readFileSync(keysPath, "utf8")).profiles : {}),
    keysText: () => (existsSync(keysPath) ? readFileSync(keysPath, "utf8") : undefined),
  };
}

const custom = (url: string) => ["--custom-base-url", url, "--custom-model-id", "m1"];

describe("the model answers before anything is written", () => {
  test("a key that is taken is stored, and its model is asked first", async () => {
    const model = await guardedModel();
    const { cli, config, keys, text, dir } = stage();
    const { code, out, err } = await cli(...custom(model.url), "--custom-api-key", KEY, "--custom-provider-id", "mine");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("Model: mine/m1, which has answered");
    expect(config()).toMatchObject({
      gateway: { mode: "local" },
      session: { dmScope: "per-channel-peer" },
      agents: { defaults: { model: { primary: "mine/m1" } } },
      models: { providers: { mine: { baseUrl: model.url, api: "openai-completions", models: [{ id: "m1" }] } } },
    });
    expect(text()).not.toContain(KEY);
    expect(keys()).toEqual({ "mine:default": { type: "api_key", provider: "mine", key: KEY } });
    expect(existsSync(join(dir, "workspace", "AGENTS.md"))).toBe(true);
    expect(model.calls).toHaveLength(1);
  });

  test("a refused key leaves config and keys as they were, byte by byte", async () => {
    const model = await guardedModel();
    const before = "{\n  // mine\n  gateway: { port: 1 },\n}\n";
    const { cli, text, keysText, dir } = stage(before);
    mkdirSync(join(dir, "credentials"), { mode: 0o700 });
    const kept = '{ "version":1, "profiles":{ "a:b": {"type":"api_key","provider":"a","key":"k"} } }';
    writeFileSync(join(dir, "credentials", "auth-profiles.json"), kept, { mode: 0o600 });
    const found = await cli(...custom(model.url), "--custom-api-key", "sk-wrong", "--agent-name", "Robin", "--json");
    expect(found.code).toBe(1);
    expect(JSON.parse(found.out)).toMatchObject({
      error: { code: "MODEL_SILENT", message: expect.stringContaining("Incorrect API key provided") },
    });
    expect(found.out + found.err).not.toContain("sk-wrong");
    expect([text(), keysText()]).toEqual([before, kept]);
  });

  test.each(ODD_SERVERS)("%s in place of an answer is told apart", async (_what, reply, sentence) => {
    const { cli, text } = stage();
    const { code, err } = await cli(...custom(await oddServer(reply)), "--custom-api-key", KEY);
    expect([code, err, text()]).toEqual([1, expect.stringMatching(sentence), undefined]);
  });

  test("a value that the config does not take leaves no key behind", async () => {
    const model = await guardedModel();
    const { cli, text, keysText } = stage();
    const { code } = await cli(...custom(model.url), "--custom-api-key", KEY, "--gateway-bind", "custom");
    expect([code, text(), keysText()]).toEqual([2, undefined, undefined]);
  });

  test("the same command once more changes nothing, and comments stay", async () => {
    const model = await guardedModel();
    const { cli, text } = stage("{\n  // mine\n  logging: { level: 'warn' },\n}\n");
    const args = [...custom(model.url), "--custom-api-key", KEY, "--agent-name", "Robin"];
    expect(await cli(...args)).toMatchObject({ code: 0 });
    const first = text();
    expect(first).toContain("// mine");
    expect(await cli(...args)).toMatchObject({ code: 0 });
    expect(text()).toBe(first);
  });
});

describe("flags are obeyed", () => {
  type Case = readonly [args: readonly string[], config: object, env?: Env];
  const WORD = "a-token-of-24-characters";
  const CASES: readonly Case[] = [
    [["--mode", "local"], { gateway: { mode: "local" } }],
    [["--flow", "quickstart"], {}],
    [["--classic", "--modern", "--skip-search", "--skip-hooks", "--skip-skills", "--skip-channels"], {}],
    [["--agent-name", "Robin"], { agents: { list: [{ id: "main", default: true, name: "Robin" }] } }],
    [["--skip-bootstrap"], { agents: { defaults: { skipBootstrap: true } } }],
    [["--gateway-port", "19001"], { gateway: { port: 19_001 } }],
    [["--gateway-bind", "lan"], { gateway: { bind: "lan" } }],
    [["--gateway-token", WORD], { gateway: { auth: { mode: "token", token: WORD } } }],
    [["--gateway-auth", "token"], { gateway: { auth: { mode: "token" } } }],
    [["--gateway-password", "sesame"], { gateway: { auth: { mode: "password" } } }],
    [["--gateway-auth", "password", "--gateway-password", "sesame"], { gateway: { auth: { password: "sesame" } } }],
    [
      ["--gateway-token-ref-env", "MY_TOKEN"],
      { gateway: { auth: { token: { source: "env", provider: "default", id: "MY_TOKEN" } } } },
      { MY_TOKEN: WORD },
    ],
    [
      ["--gateway-token", WORD, "--secret-input-mode", "ref"],
      { gateway: { auth: { token: { id: "OPENCLAW_GATEWAY_TOKEN" } } } },
      { OPENCLAW_GATEWAY_TOKEN: WORD },
    ],
    [["--tailscale", "off", "--daemon-runtime", "node", "--no-install-daemon", "--skip-daemon"], {}],
  ];
  test.each(CASES.map(([args, expected, env]) => ({ args, expected, env })))(
    "$args",
    async ({ args, expected, env }) => {
      const { cli, config } = stage(undefined, env);
      const { code, err } = await cli("--auth-choice", "skip", ...args);
      expect([code, err]).toEqual([0, ""]);
      expect(config()).toMatchObject(expected);
      expect((await cli("--auth-choice", "skip", ...args)).code).toBe(0);
    },
  );

  test("--workspace is made with its files, and written relative to the state directory where it lies there", async () => {
    const { cli, config, dir } = stage();
    expect(await cli("--auth-choice", "skip", "--workspace", join(dir, "desk"))).toMatchObject({ code: 0, err: "" });
    expect(config().agents.defaults.workspace).toBe("desk");
    expect(existsSync(join(dir, "desk", "AGENTS.md"))).toBe(true);
  });

  test.each([
    ["openai", [], { api: "openai-completions" }],
    ["openai-responses", [], { api: "openai-responses" }],
    ["anthropic", ["--custom-image-input"], { api: "anthropic-messages", models: [{ input: ["text", "image"] }] }],
    ["openai", ["--custom-text-input"], { models: [{ input: ["text"] }] }],
  ])("--custom-compatibility %s %j", async (api, more, expected) => {
    const model = await fakeModel();
    const { cli, config } = stage();
    const url = api === "anthropic" ? model.urlFor("anthropic-messages") : model.url;
    const args = ["--auth-choice", "custom-api-key", ...custom(url), "--custom-api-key", KEY, ...more];
    const { code, err } = await cli(...args, "--custom-compatibility", api);
    expect([code, err]).toEqual([0, ""]);
    const { providers } = config().models;
    expect(Object.values(providers)).toMatchObject([expected]);
  });

  test("a key of a built-in provider goes to its profile", async () => {
    const model = await guardedModel();
    const before = `{ models: { providers: { openai: { baseUrl: "${model.url}", api: "openai-completions" } } } }`;
    const { cli, config, keys } = stage(before);
    const { code, err } = await cli("--openai-api-key", KEY);
    expect([code, err]).toEqual([0, ""]);
    expect(config().agents.defaults.model).toEqual({ primary: "openai/gpt-5.4" });
    expect(keys()).toEqual({ "openai:default": { type: "api_key", provider: "openai", key: KEY } });
  });

  test("--secret-input-mode ref writes the variable's name, and the gateway finds the key by it", async () => {
    const model = await guardedModel();
    const { cli, config, keys, text, env } = stage(undefined, { CUSTOM_API_KEY: KEY });
    const args = [...custom(model.url), "--custom-provider-id", "mine", "--secret-input-mode", "ref"];
    expect(await cli(...args)).toMatchObject({ code: 0 });
    expect(config().models.providers.mine.apiKey).toEqual({ source: "env", provider: "default", id: "CUSTOM_API_KEY" });
    expect([keys(), text()]).toEqual([{}, expect.not.stringContaining(KEY)]);
    const status = await run(["models", "status", "--probe", "--check"], env);
    expect([status.code, status.out]).toEqual([0, expect.stringContaining("mine:config")]);
  });

  test("a token of a subscription is stored as one, with its end", async () => {
    const model = await fakeModel();
    model.answer(() => ({ text: "OK" }));
    const url = model.urlFor("anthropic-messages");
    const { cli, keys } = stage(`{ models: { providers: { anthropic: { baseUrl: "${url}" } } } }`);
    const args = ["--auth-choice", "token", "--token", "tok-1", "--token-profile-id", "anthropic:work"];
    expect(await cli(...args, "--token-expires-in", "12h")).toMatchObject({ code: 0, err: "" });
    expect(keys()).toEqual({
      "anthropic:work": { type: "token", provider: "anthropic", token: "tok-1", expires: expect.any(Number) },
    });
  });

  test.each(["ollama", "lmstudio", "llama-cpp", "vllm", "sglang"])(
    "--auth-choice %s asks the server itself",
    async (choice) => {
      const model = await fakeModel();
      const { cli, config } = stage();
      const { code, err } = await cli("--auth-choice", choice, ...custom(model.url));
      expect([code, err]).toEqual([0, ""]);
      expect(config().agents.defaults.model.primary).toMatch(/\/m1$/);
    },
  );

  test("--reset sets aside what its scope says, and deletes nothing", async () => {
    const model = await guardedModel();
    const { cli, dir, config } = stage("{ gateway: { port: 19002 } }\n");
    mkdirSync(join(dir, "credentials"), { mode: 0o700 });
    writeFileSync(join(dir, "credentials", "other"), "kept");
    const asides = () => readdirSync(dir).filter((name) => name.endsWith(".bak") && name !== "openclaw.json.bak");
    const key = [...custom(model.url), "--custom-api-key", KEY];
    expect(await cli(...custom(model.url), "--custom-api-key", "no", "--reset")).toMatchObject({ code: 1 });
    expect([asides(), config()]).toEqual([[], { gateway: { port: 19_002 } }]);
    expect(await cli(...key, "--reset", "--reset-scope", "config")).toMatchObject({ code: 0 });
    expect(asides()).toEqual([expect.stringMatching(/^openclaw\.json\..*\.bak$/)]);
    expect(config().gateway.port).toBe(undefined);
    expect(await cli(...key, "--reset")).toMatchObject({ code: 0 });
    const [aside] = asides().filter((name) => name.startsWith("credentials"));
    expect(readFileSync(join(dir, aside ?? "", "other"), "utf8")).toBe("kept");
    expect(await cli(...key, "--reset", "--reset-scope", "full")).toMatchObject({ code: 0 });
    expect(asides().some((name) => name.startsWith("workspace"))).toBe(true);
  });
});

describe("what is not possible is refused with its reason, and nothing is written", () => {
  type Refused = readonly [args: readonly string[], why: RegExp, exit?: number, env?: Env];
  const CASES: readonly Refused[] = [
    [["--mode", "remote"], /needs the address[\s\S]*--remote-url/],
    [["--mode", "remote", "--remote-url", "http://h:1"], /no ws:\/\/ or wss:\/\/ URL/],
    [["--mode", "remote", "--remote-url", "ws://h:1", "--gateway-port", "1"], /--gateway-port belongs to a gateway on/],
    [
      ["--mode", "remote", "--remote-url", "ws://h:1", "--openai-api-key", "x"],
      /--openai-api-key belongs to a gateway/,
    ],
    [["--remote-url", "ws://h:1"], /--remote-url belongs to --mode remote/],
    [["--remote-token", "x"], /--remote-token belongs to --mode remote/],
    [["--remote-password", "x"], /--remote-password belongs to --mode remote/],
    [["--flow", "import"], /Allowed choices are/],
    [["--auth-choice", "nobody"], /There is no --auth-choice nobody here[\s\S]*openai-api-key/],
    [["--auth-choice", "anthropic-cli"], /setup-token/],
    [["--auth-choice", "openai-device-code"], /models auth login --provider openai-codex/],
    [["--auth-choice", "openai-api-key", "--gemini-api-key", "x"], /--gemini-api-key is not the key of the chosen/],
    [["--openai-api-key", "x", "--gemini-api-key", "y"], /Several keys are given/],
    [["--openai-api-key", "two words"], /a key is one word/],
    [["--openai-api-key", "x", "--secret-input-mode", "ref"], /OPENAI_API_KEY is not set/],
    [["--openai-api-key", "x", "--secret-input-mode", "ref"], /not the key that OPENAI/, 2, { OPENAI_API_KEY: "y" }],
    [["--auth-choice", "openai-api-key", "--secret-input-mode", "ref"], /OPENAI_API_KEY is not set/],
    [[...custom("http://127.0.0.1:1/v1"), "--secret-input-mode", "ref"], /CUSTOM_API_KEY is not set/],
    [["--auth-choice", "openai-api-key"], /answers nobody without a key/, 1],
    [["--alibaba-model-studio-api-key", "x"], /no provider of that name/],
    [["--custom-base-url", "nowhere", "--custom-model-id", "m"], /is no http/],
    [["--custom-base-url", "http://127.0.0.1:1/v1"], /needs its address and a model/],
    [["--custom-api-key", "x"], /belongs to a custom provider/],
    [["--auth-choice", "skip", "--custom-model-id", "m"], /wants none/],
    [
      ["--custom-base-url", "http://a/v1", "--custom-model-id", "m", "--custom-image-input", "--custom-text-input"],
      /exclude/,
    ],
    [["--custom-base-url", "http://a/v1", "--custom-model-id", "m", "--custom-provider-id", "a b"], /no name of a/],
    [["--custom-compatibility", "grpc"], /Allowed choices are/],
    [["--auth-choice", "ollama", "--custom-base-url", "http://127.0.0.1:1/v1"], /cannot be reached/, 1],
    [["--auth-choice", "token"], /The token is missing/],
    [["--token", "x"], /belongs to a token of a subscription/],
    [["--auth-choice", "token", "--token", "x", "--token-expires-in", "soon"], /is no duration/],
    [["--auth-choice", "token", "--token", "x", "--secret-input-mode", "ref"], /stored, and not referred to/],
    [["--auth-choice", "token", "--token", "x", "--token-profile-id", "config"], /is no name for a key/],
    [["--auth-choice", "skip", "--gateway-auth", "password"], /needs a password/],
    [["--auth-choice", "skip", "--gateway-auth", "token", "--gateway-password", "x"], /takes no password/],
    [["--auth-choice", "skip", "--gateway-auth", "password", "--gateway-token", "x"], /takes no token/],
    [["--gateway-token", "x", "--gateway-password", "y"], /exclude each other/],
    [["--gateway-token", "x", "--gateway-token-ref-env", "Y"], /exclude each other/],
    [["--auth-choice", "skip", "--gateway-token-ref-env", "NO_SUCH"], /NO_SUCH of --gateway-token-ref-env is not set/],
    [["--auth-choice", "skip", "--gateway-bind", "lan", "--gateway-token", "short"], /could guess/],
    [["--auth-choice", "skip", "--gateway-bind", "everywhere"], /Allowed choices are/],
    [["--auth-choice", "skip", "--gateway-bind", "custom"], /customBindHost/],
    [["--auth-choice", "skip", "--gateway-port", "x"], /whole number/],
    [["--auth-choice", "skip", "--gateway-token", "x", "--secret-input-mode", "ref"], /OPENCLAW_GATEWAY_TOKEN is not/],
    [["--auth-choice", "skip", "--tailscale", "serve"], /does not run Tailscale/],
    [["--auth-choice", "skip", "--daemon-runtime", "bun"], /Allowed choices are/],
    [["--auth-choice", "skip", "--skip-daemon", "--install-daemon"], /exclude each other/],
    [["--auth-choice", "skip", "--reset-scope", "full"], /Add --reset/],
    [["--auth-choice", "skip", "--reset", "--reset-scope", "all"], /Allowed choices are/],
    [["--auth-choice", "skip", "--agent-name", " "], /name is empty/],
    [["--auth-choice", "skip", "--workspace", "/proc/none"], /WORKSPACE_UNUSABLE/, 78],
    [["--team"], /openclaw agents add/],
    [["--tui"], /no chat in the terminal/],
    [["--node-manager", "pnpm"], /package manager/],
    [["--import-from", "codex"], /openclaw import/],
    [["--no-such-flag"], /unknown option/],
  ];
  const rows = CASES.map(([args, why, exit = 2, env]) => ({ args, why, exit, env }));
  test.each(rows)("$args", async ({ args, why, exit, env }) => {
    const { cli, text, keysText } = stage(undefined, env);
    const { code, out, err } = await cli(...args);
    expect([code, out, err]).toEqual([exit, "", expect.stringMatching(why)]);
    expect(err).toMatch(/^fix: /m);
    expect([text(), keysText()]).toEqual([undefined, undefined]);
  });

  test("without --accept-risk, before anything is looked at", async () => {
    const { env, text } = stage();
    const { code, err } = await run(["onboard", "--non-interactive", "--auth-choice", "skip"], env);
    expect([code, err]).toEqual([2, expect.stringContaining("--accept-risk")]);
    const asJson = await run(["onboard", "--non-interactive", "--json"], env);
    expect(JSON.parse(asJson.out)).toMatchObject({ error: { code: "USAGE" } });
    expect(text()).toBe(undefined);
  });

  test("with an invalid config, which stays as it is", async () => {
    const { cli, text } = stage("{ gateway: { port: 'x' } }");
    const { code, err } = await cli("--auth-choice", "skip");
    expect([code, err]).toEqual([78, expect.stringMatching(/gateway\.port[\s\S]*openclaw doctor/)]);
    expect(text()).toBe("{ gateway: { port: 'x' } }");
    expect((await cli("--auth-choice", "skip", "--reset")).code).toBe(78);
  });
});

describe("the end", () => {
  test("--json is one object", async () => {
    const { cli, dir } = stage();
    const { code, out, err } = await cli("--auth-choice", "skip", "--gateway-port", "19003", "--json");
    expect([code, err]).toEqual([0, ""]);
    expect(JSON.parse(out)).toEqual({
      ok: true,
      mode: "local",
      configPath: join(dir, "openclaw.json"),
      workspace: join(dir, "workspace"),
      model: null,
      gateway: { port: 19_003, bind: "loopback", auth: "token" },
      daemonInstalled: false,
      health: "skipped",
      setAside: [],
    });
    expect(statSync(join(dir, "openclaw.json")).mode & 0o777).toBe(0o600);
  });

  test("a gateway that was not wanted need not run; otherwise its health is awaited", async () => {
    const { env, text } = stage();
    const words = ["onboard", "--non-interactive", "--accept-risk", "--auth-choice", "skip"];
    const unwanted = await run([...words, "--no-install-daemon"], env);
    expect([unwanted.code, unwanted.out]).toEqual([0, expect.stringContaining("Gateway: not started")]);
    const awaited = await run(words, env);
    expect([awaited.code, awaited.err]).toEqual([75, expect.stringContaining("--skip-health")]);
    expect(text()).toContain("local");
  });
});
