import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { registerOAuthProvider, unregisterOAuthProvider, type OAuthProviderInterface } from "@mariozechner/pi-ai/oauth";
import { describe, expect, onTestFinished, test } from "vitest";
import { bundledContributions } from "../../../src/app/contributions/extensions.ts";
import type { Io } from "../../../src/app/cli/io.ts";
import { runCommand } from "../../../src/app/cli/run/run-cli.ts";
import { startFakeModel } from "../../fakes/model.ts";
import { ended, mainFile, run, stateDir, type Ended } from "../../kit/gateway/cli.ts";
import { COMPILED } from "../../kit/gateway/compiled.ts";

const DAY = 24 * 3_600_000;

interface Stage {
  readonly dir: string;
  readonly env: { readonly OPENCLAW_STATE_DIR: string };
  config(): string;
  keys(): { profiles: Record<string, unknown>; order?: Record<string, string[]> };
}

function stage(config = "{}", profiles?: Record<string, object>): Stage {
  const dir = stateDir(config);
  const path = join(dir, "credentials", "auth-profiles.json");
  if (profiles) {
    mkdirSync(join(dir, "credentials"), { mode: 0o700 });
    writeFileSync(path, JSON.stringify({ version: 1, profiles }), { mode: 0o600 });
  }
  return {
    dir,
    env: { OPENCLAW_STATE_DIR: dir },
    config: () => readFileSync(join(dir, "openclaw.json"), "utf8"),
    keys: () => JSON.parse(readFileSync(path, "utf8")),
  };
}

const key = (provider: string, text = "sk-hush") => ({ type: "api_key", provider, key: text });
const token = (provider: string, expires: number) => ({ type: "token", provider, token: "tok-hush", expires });

/** The same as `run` in a process of its own, with something to read. */
function pipe(args: readonly string[], env: Record<string, string>, input: string): Promise<Ended> {
  const child = spawn(process.execPath, ["--conditions=source", mainFile, ...args], {
    env: { HOME: tmpdir(), PATH: process.env["PATH"] ?? "", ...COMPILED, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.end(input);
  return ended(child);
}

describe("the model that is asked", () => {
  test("is set in the config, whose comments stay", async () => {
    const { env, config } = stage('{\n  // mine\n  agents: { defaults: { model: "openai/gpt-5.4" } },\n}\n');
    expect(await run(["models", "set", "anthropic/claude-sonnet-4-6"], env)).toMatchObject({
      code: 0,
      err: expect.stringContaining("ANTHROPIC_API_KEY"),
    });
    expect(config()).toBe('{\n  // mine\n  agents: { defaults: { model: "anthropic/claude-sonnet-4-6" } },\n}\n');
  });

  test("keeps its fallbacks, and an agent can have its own", async () => {
    const model = '{ primary: "a/b", fallbacks: ["c/d"] }';
    const { env, config } = stage(
      `{ agents: { defaults: { model: ${model} }, list: [{ id: "main" }, { id: "two" }] } }`,
    );
    await run(["models", "set", "openai/gpt-5.4"], env);
    await run(["models", "set", "openai/gpt-5.5", "--agent", "two"], env);
    expect(config()).toContain('{ primary: "openai/gpt-5.4", fallbacks: ["c/d"] }');
    const two = await run(["models", "status", "--json", "--agent", "two"], env);
    expect(JSON.parse(two.out)).toMatchObject({ agentId: "two", defaultModel: "openai/gpt-5.5", fallbacks: [] });
    const gone = await run(["models", "set", "openai/gpt-5.5", "--agent", "three"], env);
    expect([gone.code, gone.err]).toEqual([1, expect.stringContaining("main, two")]);
  });

  test("has to be one: a provider that nobody knows is refused", async () => {
    const { env, config } = stage();
    expect((await run(["models", "set", "claude"], env)).err).toContain("provider/model");
    const { code, err } = await run(["models", "set", "nobody/x"], env);
    expect([code, err]).toEqual([78, expect.stringContaining("MODEL_UNKNOWN")]);
    expect(config()).toBe("{}");
  });

  test("has fallbacks that can be added, removed and cleared", async () => {
    const { env, config } = stage('{ agents: { defaults: { model: "a/b" } } }');
    const models = (...words: string[]) => run(["models", "fallbacks", ...words], env);
    expect((await models()).out).toBe("No fallback.\n");
    await models("add", "c/d");
    await models("add", "e/f");
    expect((await models("add", "c/d")).out).toContain("one already");
    expect((await models("list", "--plain")).out).toBe("c/d\ne/f\n");
    await models("remove", "c/d");
    expect(JSON.parse((await models("list", "--json")).out)).toEqual({ fallbacks: ["e/f"] });
    expect(await models("remove", "c/d")).toMatchObject({ code: 1, err: expect.stringContaining("e/f") });
    await models("clear");
    expect((await models("--plain")).out).toBe("");
    expect(config()).toMatch(/primary"?: "a\/b"/);
  });
});

describe("status", () => {
  test("shows the model, its keys and what is missing, without secrets", async () => {
    const config =
      '{ agents: { defaults: { model: { primary: "anthropic/claude-sonnet-4-6", fallbacks: ["groq/x"] } } } }';
    const profiles = {
      "anthropic:a": { ...key("anthropic"), email: "ann@example.com" },
      "anthropic:t": token("anthropic", Date.now() - 1),
    };
    const { env } = stage(config, profiles);
    const { code, out } = await run(["models", "status"], env);
    expect(code).toBe(0);
    expect(out).toMatch(/Fallbacks +groq\/x\n/);
    expect(out).toMatch(/No key for +groq\n/);
    expect(out).toMatch(/\nanthropic:a +api key +ok +ann@example.com\n/);
    expect(out).toMatch(/\nanthropic:t +token +expired: its time is over\n/);
    const json = await run(["models", "status", "--json"], env);
    expect(JSON.parse(json.out)).toMatchObject({
      defaultModel: "anthropic/claude-sonnet-4-6",
      auth: {
        missingProvidersInUse: ["groq"],
        providers: [
          {
            provider: "anthropic",
            profiles: [
              { profileId: "anthropic:a", type: "api_key", status: "ok" },
              { profileId: "anthropic:t", type: "token", status: "expired" },
            ],
          },
        ],
      },
    });
    expect(out + json.out).not.toContain("hush");
    expect((await run(["models", "status", "--plain"], env)).out).toBe("anthropic/claude-sonnet-4-6\n");
  });

  test("--check is 1 when something is missing or over", async () => {
    const config = '{ agents: { defaults: { model: "anthropic/claude-sonnet-4-6" } } }';
    const check = async (profiles: Record<string, object>) =>
      (await run(["models", "status", "--check"], stage(config, profiles).env)).code;
    expect(await check({})).toBe(1);
    expect(await check({ "anthropic:a": key("anthropic") })).toBe(0);
    expect(await check({ "anthropic:a": key("anthropic"), "groq:t": token("groq", 1) })).toBe(1);
    expect(await check({ "anthropic:t": token("anthropic", Date.now() + 9 * DAY) })).toBe(0);
  });

  test("shows the cooldowns that the gateway wrote", async () => {
    const { dir, env } = stage("{}", { "anthropic:a": key("anthropic") });
    const rest = { profile: "anthropic:a", provider: "anthropic", model: "m", reason: "rate_limit", failures: 2 };
    const now = Date.now();
    const times = { from: now, until: now + 330_000, forgetAt: now + DAY };
    mkdirSync(join(dir, "state"));
    writeFileSync(
      join(dir, "state/auth-rests.json"),
      JSON.stringify({ version: 1, used: {}, rests: [{ ...rest, ...times }] }),
    );
    expect((await run(["models", "status"], env)).out).toMatch(
      /\nanthropic:a +api key +cooldown of 5 min at anthropic\/m \(rate limit\)\n/,
    );
  });

  test("--probe asks each key once and names what it said", async () => {
    const model = await startFakeModel();
    model.answer((call) => (call.model === "m" ? { text: "OK" } : { status: 402, message: "no credit" }));
    onTestFinished(() => model.close());
    const provider = (id: string) => ({ baseUrl: model.url, api: "openai-completions", models: [{ id }] });
    const config = JSON.stringify({ models: { providers: { good: provider("m"), poor: provider("n") } } });
    const { env } = stage(config, { "good:a": key("good", "sk-good"), "poor:a": key("poor"), "poor:b": key("poor") });
    const all = await run(["models", "status", "--probe", "--json", "--check"], env);
    expect(all.code).toBe(1);
    const { probes } = JSON.parse(all.out);
    expect(probes.map(({ profileId, status }: Record<string, string>) => [profileId, status])).toEqual([
      ["good:a", "ok"],
      ["poor:a", "billing"],
      ["poor:b", "billing"],
    ]);
    expect(all.out).not.toContain("hush");
    const one = await run(["models", "status", "--probe", "--check", "--probe-profile", "good:a"], env);
    expect([one.code, one.out]).toEqual([0, expect.stringMatching(/\ngood:a +good\/m +ok +\d+ ms\n/)]);
  });
});

describe("keys", () => {
  test("are stored from a pipe, listed without their secrets, ordered and forgotten", async () => {
    const { env, keys } = stage();
    const auth = (...words: string[]) => run(["models", "auth", ...words], env);
    const added = await pipe(["models", "auth", "add", "--provider", "groq"], env, "gsk-hush-1\n");
    expect([added.code, added.err]).toEqual([0, ""]);
    const args = ["models", "auth", "paste-token", "--profile-id", "groq:work", "--expires-in", "365d"];
    expect((await pipe(args, env, " tok-hush-2 ")).code).toBe(0);
    expect(keys().profiles).toMatchObject({
      "groq:default": { type: "api_key", provider: "groq", key: "gsk-hush-1" },
      "groq:work": { type: "token", provider: "groq", token: "tok-hush-2", expires: expect.any(Number) },
    });
    const { out } = await auth("list");
    expect(out).toMatch(/\ngroq:work +token +ok for 36\d d\ngroq:default +api key +ok\n$/);
    expect(out + (await auth("list", "--json")).out).not.toContain("hush");
    await auth("order", "set", "--provider", "groq", "groq:default");
    expect((await auth("order", "--provider", "groq")).out).toBe("groq:default\n");
    expect((await auth("list")).out).toMatch(/groq:work +token +unusable: not in the order/);
    expect((await auth("order", "set", "--provider", "groq", "groq:no")).err).toContain("groq:default, groq:work");
    await auth("order", "clear", "--provider", "groq");
    expect(keys().order).toEqual({});
    expect((await auth("logout", "groq:work")).code).toBe(0);
    expect(await auth("logout", "groq:work")).toMatchObject({ code: 1, err: expect.stringContaining("groq:default") });
    expect(Object.keys(keys().profiles)).toEqual(["groq:default"]);
  });

  test.each([
    [["paste-token"], "--provider"],
    [["add", "--provider", "groq", "--profile-id", "other:x"], "groq:work"],
    [["add", "--provider", "groq", "--profile-id", "groq:env"], "are taken"],
    [["paste-token", "--provider", "groq", "--expires-in", "soon"], "30m, 12h or 365d"],
  ])("need a name and an owner: %j", async (args, told) => {
    const { code, err } = await run(["models", "auth", ...args], stage().env);
    expect([code, err]).toEqual([2, expect.stringContaining(told)]);
  });

  test.each([
    ["", "Nothing was given"],
    ["two words", "one word"],
  ])("are refused when they are %j", async (input, told) => {
    const { env, dir } = stage();
    const { code, err } = await pipe(["models", "auth", "add", "--provider", "groq"], env, input);
    expect([code, err]).toEqual([2, expect.stringContaining(told)]);
    expect(err).toContain("openclaw models auth add --provider groq < file");
    expect(() => readFileSync(join(dir, "credentials/auth-profiles.json"))).toThrow("ENOENT");
  });

  test("of a provider that nobody knows are stored with a warning", async () => {
    const { env } = stage();
    const odd = await pipe(["models", "auth", "add", "--provider", "nobody"], env, "key-1\n");
    expect([odd.code, odd.err]).toEqual([0, expect.stringMatching(/cannot be used yet: nobody knows its provider/)]);
    const known = await pipe(["models", "auth", "add", "--provider", "groq"], env, "gsk-1\n");
    expect([known.code, known.err]).toEqual([0, ""]);
  });

  test("come from a login only at a terminal, and only where the provider has one", async () => {
    const { env } = stage();
    const login = (provider: string) => run(["models", "auth", "login", "--provider", provider], env);
    expect(await login("anthropic")).toMatchObject({ code: 2, err: expect.stringContaining("needs a terminal") });
    expect(await login("groq")).toMatchObject({
      code: 2,
      err: expect.stringMatching(/anthropic.*auth add --provider groq/),
    });
  });

  describe("from a login at a terminal", () => {
    async function login(renew: OAuthProviderInterface["login"]): Promise<Ended & Stage> {
      registerOAuthProvider({
        id: "own",
        name: "Own",
        login: renew,
        refreshToken: async (credentials) => credentials,
        getApiKey: ({ access }) => access,
      });
      const isTTY = process.stdin.isTTY;
      process.stdin.isTTY = true;
      onTestFinished(() => {
        process.stdin.isTTY = isTTY;
        unregisterOAuthProvider("own");
      });
      const at = stage();
      let told = "";
      const io: Io = {
        contributions: bundledContributions(),
        env: at.env,
        out: (text) => void (told += text),
        err: (text) => void (told += text),
        isTerminal: true,
        isErrTerminal: true,
        color: false,
        verbose: false,
      };
      const code = await runCommand(io, ["models", "auth", "login", "--provider", "own"]);
      return { ...at, code, out: told, err: told };
    }

    test("are stored with the provider's answer, after its address was shown", async () => {
      const { code, out, keys } = await login(async ({ onAuth, onProgress }) => {
        onAuth({ url: "https://own.example/login", instructions: "Enter 1234" });
        onProgress?.("Nearly there");
        return { access: "hush-a", refresh: "hush-r", expires: 5, accountId: "acc" };
      });
      expect([code, out]).toEqual([
        0,
        expect.stringMatching(/https:\/\/own\.example\/login\nEnter 1234\nNearly there\nStored own:default/),
      ]);
      expect(out).not.toContain("hush");
      expect(keys().profiles).toEqual({
        "own:default": {
          type: "oauth",
          provider: "own",
          access: "hush-a",
          refresh: "hush-r",
          expires: 5,
          accountId: "acc",
        },
      });
    });

    test("are not when it fails, and its words with tokens in them are not shown", async () => {
      const { code, err, dir } = await login(async () => {
        throw new Error("Token exchange failed. status=403; body=hush");
      });
      expect([code, err]).toEqual([78, expect.stringContaining("Own did not let you in (HTTP 403).")]);
      expect(err).not.toContain("hush");
      expect(() => readFileSync(join(dir, "credentials/auth-profiles.json"))).toThrow("ENOENT");
    });
  });

  test("of a broken file are reported, and the file stays", async () => {
    const { dir, env } = stage("{}", {});
    const path = join(dir, "credentials/auth-profiles.json");
    writeFileSync(path, '{"profiles":{"a":"sk-hush');
    for (const args of [["auth", "list"], ["status"], ["auth", "logout", "a"]]) {
      const { code, err } = await run(["models", ...args], env);
      expect([code, err]).toEqual([78, expect.stringContaining("auth-profiles.json is no JSON")]);
      expect(err).not.toContain("hush");
    }
    expect(readFileSync(path, "utf8")).toBe('{"profiles":{"a":"sk-hush');
  });
});

describe("lists", () => {
  test("show those that can be used, those on this machine, or all", async () => {
    const here = { baseUrl: "http://127.0.0.1:9/v1", api: "openai-completions", models: [{ id: "m" }] };
    const { env } = stage(JSON.stringify({ models: { providers: { here } } }), { "groq:a": key("groq") });
    const plain = async (...flags: string[]) =>
      (await run(["models", "list", "--plain", ...flags], env)).out.split("\n");
    expect(await plain("--local")).toEqual(["here/m", "demo/echo-agent", ""]);
    const usable = await plain();
    expect(usable.some((name) => name.startsWith("groq/"))).toBe(true);
    expect(usable.some((name) => name.startsWith("anthropic/"))).toBe(false);
    expect((await plain("--all")).some((name) => name.startsWith("anthropic/"))).toBe(true);
  });

  test("come from the servers themselves on request", async () => {
    const { createServer } = await import("node:http");
    const server = createServer((_request, response) => response.end(JSON.stringify({ data: [{ id: "big" }] })));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const at = (where: number) => ({ baseUrl: `http://127.0.0.1:${where}/v1`, api: "openai-completions" });
    const { env } = stage(JSON.stringify({ models: { providers: { here: at(port), gone: at(9) } } }));
    const found = await run(["models", "scan", "--provider", "here"], env);
    expect([found.code, found.out, found.err]).toEqual([0, expect.stringMatching(/\nhere\/big\n/), ""]);
    const gone = await run(["models", "scan", "--provider", "gone", "--json"], env);
    expect([gone.code, JSON.parse(gone.out)]).toMatchObject([
      1,
      { servers: [{ provider: "gone", problem: "not reached" }] },
    ]);
  });
});
