import { execFileSync } from "node:child_process";
import { chmod, mkdtemp, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { keyChecks } from "../../src/providers/auth/checks.ts";
import { Credentials } from "../../src/providers/auth/credentials.ts";
import { authConfig } from "../../src/providers/config.ts";
import { Secret } from "../../src/types/secret.ts";

async function emptyDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "openclaw-keys-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return join(dir, "credentials");
}

const KEY = "sk-ant-api03-hush-hush";
const apiKey = (key = KEY, provider = "anthropic") => ({ type: "api_key" as const, provider, key: new Secret(key) });

async function withFile(content: unknown): Promise<Credentials> {
  const dir = await emptyDir();
  await new Credentials(dir).put("x:x", apiKey());
  const credentials = new Credentials(dir);
  await writeFile(credentials.path, typeof content === "string" ? content : JSON.stringify(content));
  return credentials;
}

const contentOf = async ({ path }: Credentials): Promise<unknown> => JSON.parse(await readFile(path, "utf8"));

/** A file as the field has it, with what only other programs know. */
const FIELD = {
  version: 1,
  profiles: {
    "anthropic:default": { type: "api_key", provider: "anthropic", key: KEY, metadata: { team: "red" } },
    "anthropic:manual": { type: "token", provider: "anthropic", token: "sk-ant-oat01-hush", expires: 5 },
    "openai-codex:me": {
      type: "oauth",
      provider: "openai-codex",
      access: "hush-access",
      refresh: "hush-refresh",
      expires: 7,
      email: "ann@example.com",
      accountId: "acc",
    },
    "vault:x": { type: "sealed", provider: "vault", keyRef: { source: "exec", id: "y" } },
  },
  order: { anthropic: ["anthropic:manual"] },
  lastGood: { anthropic: "anthropic:default" },
  usageStats: { "anthropic:default": { lastUsed: 3, errorCount: 0 } },
};

describe("the credentials file", () => {
  it("is made on the first write, for its owner alone", async () => {
    const dir = await emptyDir();
    const credentials = new Credentials(dir);
    expect((await credentials.read()).profiles.size).toBe(0);
    await credentials.put("anthropic:default", apiKey());
    expect(await contentOf(credentials)).toEqual({
      version: 1,
      profiles: { "anthropic:default": { type: "api_key", provider: "anthropic", key: KEY } },
    });
    expect([(await stat(dir)).mode & 0o777, (await stat(credentials.path)).mode & 0o777]).toEqual([0o700, 0o600]);
    expect(await readdir(dir)).toEqual(["auth-profiles.json"]);
  });

  it("is read in the field's shape, and what nobody knows stays in it", async () => {
    const credentials = await withFile(FIELD);
    const { profiles, order, odd } = await credentials.read();
    expect([[...profiles.keys()], odd]).toEqual([
      ["anthropic:default", "anthropic:manual", "openai-codex:me"],
      ["vault:x"],
    ]);
    expect(order).toEqual({ anthropic: ["anthropic:manual"] });
    expect(profiles.get("openai-codex:me")).toMatchObject({ email: "ann@example.com", more: { accountId: "acc" } });
    await credentials.put("anthropic:default", apiKey("sk-new-one"));
    await credentials.setOrder("openai", ["openai:a"]);
    const { profiles: before } = FIELD;
    expect(await contentOf(credentials)).toEqual({
      ...FIELD,
      profiles: { ...before, "anthropic:default": { ...before["anthropic:default"], key: "sk-new-one" } },
      order: { anthropic: ["anthropic:manual"], openai: ["openai:a"] },
    });
  });

  it("forgets a profile everywhere, and an order on request", async () => {
    const credentials = await withFile(FIELD);
    expect([await credentials.remove("anthropic:manual"), await credentials.remove("anthropic:manual")]).toEqual([
      true,
      false,
    ]);
    expect((await credentials.read()).order).toEqual({ anthropic: [] });
    await credentials.setOrder("anthropic", undefined);
    expect(await contentOf(credentials)).toMatchObject({ order: {}, lastGood: FIELD.lastGood });
  });

  it("shows a change of another process at once", async () => {
    const credentials = await withFile(FIELD);
    await credentials.read();
    await new Credentials(join(credentials.path, "..")).put("groq:a", apiKey("gsk-hush", "groq"));
    expect((await credentials.read()).profiles.has("groq:a")).toBe(true);
    await writeFile(credentials.path, '{"profiles":{}}');
    await utimes(credentials.path, 1, 1);
    expect((await credentials.read()).profiles.size).toBe(0);
  });

  it("is read anew by who asks after a change, while an earlier version is still being read", async () => {
    const credentials = await withFile(FIELD);
    await rm(credentials.path);
    execFileSync("mkfifo", [credentials.path]);
    // A pipe is read when its other end is written.
    const earlier = credentials.read();
    const pipe = await open(credentials.path, "w");
    await writeFile(`${credentials.path}.new`, '{"profiles":{}}');
    await rename(`${credentials.path}.new`, credentials.path);
    const later = credentials.read();
    await pipe.writeFile(JSON.stringify(FIELD));
    await pipe.close();
    expect((await later).profiles.size).toBe(0);
    expect((await earlier).profiles.has("anthropic:default")).toBe(true);
    expect((await credentials.read()).profiles.size).toBe(0);
  });

  it("loses nothing when many write at once", async () => {
    const dir = await emptyDir();
    const writers = [new Credentials(dir), new Credentials(dir)];
    const ids = Array.from({ length: 8 }, (_, index) => `p:${index}`);
    await Promise.all(ids.map((id, index) => writers[index % 2]!.put(id, apiKey(`key-${index}`, "p"))));
    expect([...(await writers[0]!.read()).profiles.keys()].toSorted()).toEqual(ids);
  });

  it.each([
    ["no JSON", `{"profiles":{"a":{"key":"${KEY}`],
    ["another shape", `{"profiles":["${KEY}"]}`],
    ["a list", `["${KEY}"]`],
  ])("is never overwritten when it is %s, and its secrets are not logged", async (_name, text) => {
    const credentials = await withFile(text);
    const acts = [
      () => credentials.read(),
      () => credentials.put("a:b", apiKey()),
      () => credentials.remove("a:b"),
      () => credentials.setOrder("a", []),
    ];
    for (const act of acts) {
      const error: unknown = await act().catch((caught: unknown) => caught);
      expect(error).toMatchObject({ code: "MODEL_KEY_MISSING", fix: expect.stringContaining("Mend it") });
      expect(inspect(error, { depth: 9 })).not.toContain("hush");
    }
    expect(await readFile(credentials.path, "utf8")).toBe(text);
  });

  it("prints no secret", async () => {
    const keys = await (await withFile(FIELD)).read();
    expect(inspect(keys, { depth: 9 }) + JSON.stringify([...keys.profiles])).not.toContain("hush");
  });
});

describe("doctor", () => {
  const run = async (credentials: Credentials, auth: object = {}, now = () => 0) => {
    const dir = join(credentials.path, "..");
    const checks = keyChecks({ dir, auth: authConfig.parse(auth), cooldowns: join(dir, "rests.json"), now });
    return (await Promise.all(checks.map((check) => check.run(new AbortController().signal)))).flat();
  };

  it("has nothing to say of a file that is in order", async () => {
    const dir = await emptyDir();
    expect((await run(new Credentials(dir))).map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
    const credentials = new Credentials(dir);
    await credentials.put("anthropic:default", apiKey());
    expect((await run(credentials)).map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
  });

  it("finds a broken file", async () => {
    const [first, second] = await run(await withFile("{"));
    expect([first, second]).toMatchObject([{ status: "fail", message: expect.stringContaining("is no JSON") }, {}]);
  });

  it.skipIf(process.platform === "win32")("finds and repairs a file that others can read", async () => {
    const credentials = await withFile({ profiles: {} });
    await chmod(credentials.path, 0o644);
    const [found] = await run(credentials);
    expect(found).toMatchObject({ status: "fail", fix: expect.stringContaining("chmod 600") });
    await found!.repair!.apply();
    expect((await stat(credentials.path)).mode & 0o777).toBe(0o600);
  });

  it("names keys of an unknown form, of another kind than the config says, and orders that lead nowhere", async () => {
    const auth = {
      profiles: { "anthropic:default": { provider: "anthropic", mode: "oauth" } },
      order: { groq: ["groq:gone"] },
    };
    const told = (await run(await withFile(FIELD), auth)).map(({ message }) => message).join("\n");
    expect(told).toContain('"vault:x"');
    expect(told).toContain('"anthropic:default" is a api_key');
    expect(told).toContain('"groq:gone"');
  });

  it("names tokens that are over or nearly so; logins renew themselves", async () => {
    const day = 24 * 3_600_000;
    const token = (expires: number) => ({ type: "token", provider: "p", token: "t", expires });
    const login = { type: "oauth", provider: "p", access: "a", refresh: "r", expires: 1 };
    const profiles = { "p:over": token(day), "p:soon": token(4 * day), "p:fine": token(90 * day), "p:login": login };
    const found = (await run(await withFile({ profiles }), {}, () => 2 * day)).slice(1, 3);
    expect(found.map(({ status, message }) => [status, /p:\w+/.exec(message)?.[0]])).toEqual([
      ["fail", "p:over"],
      ["warn", "p:soon"],
    ]);
  });
});
