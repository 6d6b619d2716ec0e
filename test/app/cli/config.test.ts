import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { run, stateDir } from "../../kit/gateway/cli.ts";

const BROKEN = `{
  gateway: {
    prt: 18789,
  },
  agents: { defaults: { timeoutSeconds: "long" } },
}
`;

test("set and unset change one value and keep the other content of the file; get reads it", async () => {
  const dir = stateDir("{\n  // mine\n  gateway: { port: 1 },\n}\n");
  const env = { OPENCLAW_STATE_DIR: dir };
  expect((await run(["config", "set", "gateway.port", "4711"], env)).code).toBe(0);
  expect(readFileSync(join(dir, "openclaw.json"), "utf8")).toBe("{\n  // mine\n  gateway: { port: 4711 },\n}\n");
  expect((await run(["config", "get", "gateway.port"], env)).out).toBe("4711\n");
  expect((await run(["config", "unset", "gateway.port"], env)).code).toBe(0);
  expect((await run(["config", "get", "gateway.port", "--json"], env)).out).toBe("18789\n");
  const again = await run(["config", "unset", "gateway.port"], env);
  expect([again.code, again.err]).toEqual([1, expect.stringContaining("error NOT_FOUND: gateway.port is not in")]);
});

test("set makes the file, for this user alone", async () => {
  const dir = join(stateDir(), "new");
  const { code } = await run(["config", "set", "gateway.bind", "lan"], { OPENCLAW_STATE_DIR: dir });
  expect(code).toBe(0);
  expect(readFileSync(join(dir, "openclaw.json"), "utf8")).toContain('"bind": "lan"');
  expect(statSync(join(dir, "openclaw.json")).mode & 0o777).toBe(0o600);
});

test("a number of digits that a number loses is refused wherever it is; set keeps ids and phone numbers as they were typed", async () => {
  const dir = stateDir("{ channels: { telegram: { allowFrom: [1001, 123456789012345678] } } }\n");
  const env = { OPENCLAW_STATE_DIR: dir };
  const lost = await run(["config", "validate"], env);
  expect([lost.code, lost.err]).toEqual([
    78,
    expect.stringMatching(/channels\.telegram\.allowFrom\[1\]: .*write it in quotes/),
  ]);
  const list = ["config", "set", "channels.telegram.groupAllowFrom", "[123456789012345678]"];
  expect((await run(list, env)).code).toBe(78);
  for (const [key, value] of [
    ["channels.telegram.allowFrom[1]", "123456789012345678"],
    ["channels.signal.account", "+15550001111"],
    ["gateway.auth.token", "123456789012345678901234"],
  ] as const) {
    expect(await run(["config", "set", key, value], env)).toMatchObject({ code: 0, err: "" });
    expect(readFileSync(join(dir, "openclaw.json"), "utf8")).toContain(`"${value}"`);
  }
  expect((await run(["config", "set", "gateway.port", "4711"], env)).code).toBe(0);
  expect((await run(["config", "get", "gateway.port", "--json"], env)).out).toBe("4711\n");
});

test("set refuses a value that does not fit, and leaves the file alone", async () => {
  const dir = stateDir("{}\n");
  const env = { OPENCLAW_STATE_DIR: dir };
  const wrong = await run(["config", "set", "gateway.prt", "1"], env);
  expect([wrong.code, wrong.err]).toEqual([78, expect.stringContaining("did you mean gateway.port?")]);
  const strict = await run(["config", "set", "--json", "gateway.bind", "lan"], env);
  expect([strict.code, strict.err]).toEqual([2, expect.stringContaining("The value is no JSON5.")]);
  expect(readFileSync(join(dir, "openclaw.json"), "utf8")).toBe("{}\n");
});

test("set says what the check of the file warns of at that key, and nothing of others", async () => {
  const env = {
    OPENCLAW_STATE_DIR: stateDir('{ session: { mainKey: "main" }, channels: { telegram: { botToken: "1:a" } } }'),
  };
  const set = async (key: string, value: string) => (await run(["config", "set", key, value], env)).err;
  expect(await set("gateway.port", "4711")).toBe("");
  expect(await set("channels.telegram.streaming.mode", "off")).toBe("");
  expect(await set("channels.telegram.streamng.mode", "off")).toMatch(
    /^warning: .*unknown to telegram; did you mean streaming\?\n$/,
  );
  expect(await set("channels.telegram.mediaTypes", '{ alow: ["image/*"] }')).toMatch(/did you mean allow\?\n$/);
  expect(await set("session.mainKey", "x")).toMatch(
    /^warning: .*session\.mainKey: is known, but has no effect here yet\n$/,
  );
});

test("validate lists what it finds often, by line, and ends with what stops something", async () => {
  const text = [
    "{",
    "  wizard: { lastRunMode: 'local' },",
    "  ui: { seamColor: '#FF4500' },",
    "  discovery: { mdns: { mode: 'off' } },",
    "  talk: { voiceId: 'v' },",
    "  agent: { workspace: '/w' },",
    "  channels: { telegram: { botToken: '1:a', contextVisibility: 'allowlist', streaming: 'off' } },",
    "}",
  ];
  const { code, out, err } = await run(["config", "validate"], { OPENCLAW_STATE_DIR: stateDir(text.join("\n")) });
  expect([code, out]).toEqual([0, expect.stringContaining("is valid, but stops what the warnings above name.")]);
  expect(err.split("\n")).toEqual([
    "4 keys are known from OpenClaw and have no effect here:",
    "  openclaw.json:2: wizard",
    "  openclaw.json:3: ui",
    "  openclaw.json:4: discovery",
    "  openclaw.json:5: talk",
    "",
    "warning: openclaw.json:6: agent: is read as agents.defaults; openclaw doctor --fix writes it so",
    expect.stringMatching(/^warning: openclaw\.json:7: channels\.telegram\.streaming: is read in its present form/),
    expect.stringMatching(/^warning: openclaw\.json:7: channels\.telegram\.contextVisibility: .* telegram is stopped/),
    "",
  ]);
});

test("secrets are not printed, whatever section they are in", async () => {
  const env = {
    OPENCLAW_STATE_DIR: stateDir(
      `{ gateway: { auth: { token: "hush-1" } }, channels: { telegram: { botToken: "hush-2" } }, tools: { web: { search: { apiKey: "hush-3" } } } }`,
    ),
  };
  for (const key of [
    "gateway.auth.token",
    "channels.telegram.botToken",
    "channels",
    "gateway",
    "tools.web.search",
    "tools.web.search.apiKey",
  ]) {
    const { code, out } = await run(["config", "get", key], env);
    expect([code, out], key).toEqual([0, expect.stringContaining("[secret]")]);
    expect(out).not.toContain("hush");
  }
});

test("validate names every problem with its line and ends with 78", async () => {
  const env = { OPENCLAW_STATE_DIR: stateDir(BROKEN) };
  const { code, out, err } = await run(["config", "validate"], env);
  expect([code, out]).toEqual([78, ""]);
  expect(err).toMatch(/error CONFIG_INVALID: .*openclaw\.json:3.*gateway\.prt.*did you mean gateway\.port\?/);
  expect(err).toMatch(/\n {2}.*openclaw\.json:5.*timeoutSeconds/);
  expect(err).toContain("\nfix: ");
  const json = await run(["config", "validate", "--json"], env);
  expect(json.code).toBe(78);
  expect(JSON.parse(json.out)).toMatchObject({ valid: false, problems: [{ line: 3 }, { line: 5 }] });
});

test("every command that needs the config reports a syntax error with its line and column", async () => {
  const env = { OPENCLAW_STATE_DIR: stateDir("{\n  gateway: {{\n}\n") };
  for (const args of [
    ["config", "validate"],
    ["config", "get", "gateway.port"],
    ["channels", "list"],
    ["models", "list"],
  ]) {
    const { code, err } = await run(args, env);
    expect([code, err], args.join(" ")).toEqual([
      78,
      expect.stringMatching(/^error CONFIG_SYNTAX: .*openclaw\.json:2/),
    ]);
  }
});

test("a valid file, a missing one, the schema and the place", async () => {
  const dir = stateDir("{ gateway: { port: 1 } }");
  const env = { OPENCLAW_STATE_DIR: dir };
  expect(await run(["config", "validate"], env)).toMatchObject({ code: 0, out: expect.stringContaining("is valid") });
  expect(await run(["config", "file"], env)).toMatchObject({ code: 0, out: `${join(dir, "openclaw.json")}\n` });
  expect(JSON.parse((await run(["config", "schema"], env)).out)).toMatchObject({ properties: { gateway: {} } });
  const stopping = { channels: { telegram: { botToken: "1:a", contextVisibility: "allowlist" } } };
  const stopped = await run(["config", "validate"], { OPENCLAW_STATE_DIR: stateDir(JSON.stringify(stopping)) });
  expect(stopped).toMatchObject({
    err: expect.stringContaining("telegram is stopped until the key is gone"),
    out: expect.stringContaining("is valid, but stops what the warnings above name."),
  });
  const none = await run(["config", "validate"], { OPENCLAW_STATE_DIR: join(dir, "none") });
  expect(none).toMatchObject({ code: 0, out: expect.stringContaining("all defaults") });
});

test("onboard --adopt leaves its mark in the state, and the config as another program wrote it", async () => {
  const text = "// kept\n{ meta: { lastTouchedVersion: '2026.5.20' } }\n";
  const dir = stateDir(text);
  const env = { OPENCLAW_STATE_DIR: dir };
  const adopted = async () => JSON.parse((await run(["gateway", "instance", "--json"], env)).out);
  expect(await adopted()).toEqual({ id: null, stateDir: dir, adopted: false, original: null });
  expect((await run(["onboard", "--adopt"], env)).code).toBe(0);
  expect(readFileSync(join(dir, "openclaw.json"), "utf8")).toBe(text);
  const { id } = await adopted();
  expect(await adopted()).toMatchObject({ adopted: true });
  expect((await run(["gateway", "instance", "--renew"], env)).out).toMatch(/Adopted +yes/);
  expect(await adopted()).toMatchObject({ adopted: true, id: expect.not.stringMatching(id) });
  expect((await run(["onboard"], env)).code).toBe(2);
});

test("doctor --fix takes gateway.adopt out of the config and keeps that the directory is adopted", async () => {
  const dir = stateDir("{ meta: {}, gateway: { port: 1, adopt: true } }\n");
  const env = { OPENCLAW_STATE_DIR: dir };
  const look = await run(["doctor", "--only", "app.adopted"], env);
  expect(look.out).toContain("OpenClaw does not know the key");
  const mended = await run(["doctor", "--only", "app.adopted", "--fix", "--yes"], env);
  expect(mended.out).toContain("No other program keeps it.");
  expect(readFileSync(join(dir, "openclaw.json"), "utf8")).toBe("{ meta: {}, gateway: { port: 1 } }\n");
});
