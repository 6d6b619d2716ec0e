import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { acquireStateLock } from "../../../src/store/lock/lock.ts";
import { run, stateDir } from "../../kit/gateway/cli.ts";

const CONFIG = `// my bots
{
  telegram: { botToken: "\${BOT_TOKEN}", enabled: true }, // moved by the import
  agents: { defaults: { workspace: "~/.openclaw/workspace", model: "fake/one" } },
}
`;

/** A home with a source below it, and an empty target beside. */
function homeWith(files: Readonly<Record<string, string>>) {
  const home = stateDir();
  for (const [name, text] of Object.entries(files)) {
    const path = join(home, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  const target = join(home, "target");
  const env = { HOME: home, OPENCLAW_STATE_DIR: target, BOT_TOKEN: "12:a-secret" };
  return { home, target, env };
}

test("a target without a config gets the source's, with its comments, in the forms of today, and its channels off", async () => {
  const { target, env } = homeWith({ ".openclaw/openclaw.json": CONFIG });
  const dry = await run(["import", "--dry-run", "--json"], env);
  expect(dry.code).toBe(0);
  expect(() => readFileSync(target)).toThrow("ENOENT");
  const { code, out } = await run(["import"], env);
  expect([code, out]).toEqual([0, expect.stringContaining("Config: 1 taken")]);
  expect(out).not.toContain("a-secret");
  const text = readFileSync(join(target, "openclaw.json"), "utf8");
  expect(text).toContain("// my bots");
  expect(text).toContain('botToken: "${BOT_TOKEN}"'.replace("botToken", '"botToken"'));
  const facts = async () => JSON.parse((await run(["doctor", "--json"], env)).out) as object;
  expect(JSON.stringify(await facts())).toContain("its config was imported");
  await run(["onboard", "--adopt"], env);
  expect(JSON.stringify(await facts())).not.toContain("its config was imported");
  expect((await run(["config", "get", "session.dmScope"], env)).out).toBe("main\n");
  expect((await run(["config", "get", "agents.defaults.workspace"], env)).out).toBe("workspace\n");
  expect((await run(["config", "get", "channels.telegram.enabled"], env)).out).toBe("true\n");
});

test("a config that the target has stays, and the keys that differ are named without their values", async () => {
  const { target, env } = homeWith({
    ".clawdbot/clawdbot.json": '{ "gateway": { "port": 4711, "auth": { "token": "sssss" } } }',
    "target/openclaw.json": '{ "gateway": { "port": 4712 } }',
  });
  const { code, out } = await run(["import"], env);
  expect(code).toBe(0);
  expect(out).toMatch(/Config: 1 left behind\n.*differs in: gateway\.port, gateway\.auth/);
  expect(out).not.toContain("sssss");
  expect(readFileSync(join(target, "openclaw.json"), "utf8")).toContain("4712");
});

test("a second import finds the config there; after a change in the source it is taken again, unless it was changed here", async () => {
  const { home, target, env } = homeWith({ ".openclaw/openclaw.json": '{ "gateway": { "port": 4711 } }' });
  await run(["import"], env);
  expect((await run(["import"], env)).out).toContain("Config: 1 there already");
  writeFileSync(join(home, ".openclaw/openclaw.json"), '{ "gateway": { "port": 4713 } }');
  expect((await run(["import"], env)).out).toContain("Config: 1 taken");
  expect((await run(["config", "get", "gateway.port"], env)).out).toBe("4713\n");
  await run(["config", "set", "gateway.port", "5000"], env);
  writeFileSync(join(home, ".openclaw/openclaw.json"), '{ "gateway": { "port": 4714 } }');
  expect((await run(["import"], env)).out).toContain("was changed since it was imported");
  expect(readFileSync(join(target, "openclaw.json"), "utf8")).toContain("5000");
});

test.each([
  [["import", "nowhere"], "does not exist"],
  [["import", "target"], "own state directory"],
  [["import", "."], "lie in each other"],
  [["import", "empty"], "neither a config nor agents"],
])("%s is refused with a way out", async ([command = "", dir = ""], message) => {
  const { home, env } = homeWith({ "target/openclaw.json": "{}", "empty/x": "" });
  const { code, err } = await run([command, join(home, dir)], env);
  expect([code, err]).toEqual([expect.any(Number), expect.stringContaining(message)]);
  expect(code).toBeGreaterThan(0);
});

test("several files become one config, and a config that the gateway refuses is written with what it refuses named", async () => {
  const { target, env } = homeWith({
    ".openclaw/openclaw.json": '{ "gateway": { "$include": "./gateway.json" }, "gatewey": {} }',
    ".openclaw/gateway.json": '{ "port": 4711 } // the port',
  });
  const { code, out } = await run(["import"], env);
  expect([code, out]).toEqual([0, expect.stringContaining("made of 2 files")]);
  expect(out).toMatch(/the gateway does not start with it: .*gatewey: unknown key/);
  expect(JSON.parse(readFileSync(join(target, "openclaw.json"), "utf8"))).toEqual({
    gateway: { port: 4711 },
    gatewey: {},
    session: { dmScope: "main" },
  });
});

test("a source whose gateway runs is only planned, and a target whose gateway runs gets nothing", async () => {
  const { home, target, env } = homeWith({ ".openclaw/openclaw.json": "{}", "target/x": "" });
  const lock = await acquireStateLock(target);
  const busy = await run(["import"], env);
  expect([busy.code, busy.err]).toEqual([78, expect.stringContaining("owns this state directory")]);
  expect((await run(["import", "--dry-run"], env)).out).toContain("stop it before the import");
  await lock.release();
  const folder = join(home, ".openclaw/tmp", `openclaw-${process.getuid?.() ?? ""}`);
  const source = join(home, ".openclaw");
  mkdirSync(folder, { recursive: true });
  const hold = (pid: number) => {
    const facts = {
      pid,
      createdAt: "2026-01-01T00:00:00.000Z",
      configPath: join(source, "openclaw.json"),
      stateDir: source,
    };
    writeFileSync(join(folder, "gateway.0.lock"), JSON.stringify(facts));
  };
  hold(process.pid);
  const { code, err } = await run(["import"], env);
  expect([code, err]).toEqual([78, expect.stringContaining(`its gateway runs (process ${process.pid})`)]);
  expect((await run(["import", "--dry-run"], env)).out).toContain("its gateway runs");
  expect(existsSync(join(target, "openclaw.json"))).toBe(false);
  hold(2 ** 30);
  expect((await run(["import"], env)).code).toBe(0);
});
