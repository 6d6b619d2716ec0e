import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe } from "vitest";
import { SOON_MS, TOKEN, type GatewayUnderTest } from "../kit/gateway/process.ts";
import { inboxOf, outcomesOf } from "../kit/gateway/state-files.ts";
import { test, type World } from "../kit/gateway/world.ts";

const WEB_ONLY = { channels: { telegram: { enabled: false } } };
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
const greeted = (gateway: GatewayUnderTest) =>
  gateway.logged(({ text }) => typeof text === "string" && text.includes("Channels  "));

/** A model that answers when it is told to. */
function hold(world: World): { release: () => void } {
  const held = Promise.withResolvers<void>();
  world.model.answer(async (call) => {
    await held.promise;
    return { text: `late: ${call.said}` };
  });
  return { release: () => held.resolve() };
}

describe.concurrent("the first start", () => {
  test("in an empty place makes a private state, seeds the workspace and says where it is", async ({
    world,
    expect,
  }) => {
    const home = await world.home();
    await rm(home.stateDir, { recursive: true });
    const gateway = await home.start({ args: ["--port", "0"] });
    await greeted(gateway);
    for (const dir of ["", "credentials", "sessions", "state", "workspace", "logs"])
      expect(`${dir} ${modeOf(join(home.stateDir, dir))}`).toBe(`${dir} 700`);
    const tokenFile = join(home.stateDir, "credentials", "gateway-token");
    expect(modeOf(tokenFile)).toBe("600");
    const token = readFileSync(tokenFile, "utf8").trim();
    expect(token.length).toBeGreaterThanOrEqual(32);
    for (const name of ["README.md", "AGENTS.md", "SOUL.md", "USER.md", "HEARTBEAT.md"])
      expect(readFileSync(join(home.stateDir, "workspace", name), "utf8").length).toBeGreaterThan(20);
    expect(gateway.output).toContain(`http://127.0.0.1:${gateway.port}/  (sign in: node bin/openclaw.mjs dashboard)`);
    expect(gateway.output).not.toContain(token);
    expect(gateway.output).toContain(home.stateDir);
    expect(gateway.output).toMatch(/Model +\S+/);
    expect(gateway.output).toMatch(/Channels +none/);
    const page = await fetch(`http://127.0.0.1:${gateway.port}/`);
    expect(page.status).toBe(200);
    const journal = join(home.stateDir, "state", "journal.sqlite");
    expect(modeOf(journal)).toBe("600");
    expect(await gateway.kill()).toBe(0);
    const again = await home.start({ args: ["--port", "0"] });
    await greeted(again);
    expect(readFileSync(tokenFile, "utf8").trim()).toBe(token);
  });

  test("takes the port of the environment before that of the config, and refuses one that is none", async ({
    world,
    expect,
  }) => {
    const home = await world.home(world.config({ ...WEB_ONLY, gateway: { port: 1 } }));
    const held = createServer().listen(0, "127.0.0.1");
    await once(held, "listening");
    const { port } = held.address() as AddressInfo;
    held.close();
    await once(held, "close");
    const gateway = await home.start({ env: { OPENCLAW_GATEWAY_PORT: `127.0.0.1:${port}` }, args: [] });
    await greeted(gateway);
    expect(gateway.port).toBe(port);
    await gateway.kill();
    const refused = await home.run(["gateway", "run"], { OPENCLAW_GATEWAY_PORT: "many" });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('OPENCLAW_GATEWAY_PORT is no port: "many"');
  });

  test("started elsewhere than in its folder, names the program by its whole path", async ({ world, expect }) => {
    const home = await world.home(world.config(WEB_ONLY));
    const program = join(import.meta.dirname, "../../bin/openclaw.mjs");
    const elsewhere = `cd / && exec "${process.execPath}" "${program}" "$@"`;
    const gateway = await home.start({ command: ["sh", "-c", elsewhere, "sh"], args: ["--port", "0"] });
    await greeted(gateway);
    expect(gateway.output).toContain(`(sign in: node ${program} dashboard)`);
    expect(gateway.output).toMatch(/State +\//);
  });

  test("leaves what the user changed in the workspace as it is", async ({ world, expect }) => {
    const { home, gateway } = await world.start(WEB_ONLY);
    await greeted(gateway);
    await gateway.kill();
    const soul = join(home.stateDir, "workspace", "SOUL.md");
    await writeFile(soul, "mine");
    await rm(join(home.stateDir, "workspace", "USER.md"));
    await greeted(await home.start());
    expect(readFileSync(soul, "utf8")).toBe("mine");
    expect(existsSync(join(home.stateDir, "workspace", "USER.md"))).toBe(false);
  });
});

describe.concurrent("a start that cannot be", () => {
  test("a second daemon names the first and how to stop it", async ({ world, expect }) => {
    const { home, gateway } = await world.start(WEB_ONLY);
    const second = await home.run(["gateway", "run"]);
    expect(second.code).toBe(78);
    expect(second.stderr).toContain(String(gateway.pid));
    expect(second.stderr).toContain("openclaw gateway stop");
    const stopped = await home.run(["gateway", "stop"]);
    expect(stopped.code, stopped.stderr).toBe(0);
    expect(await gateway.ended).toBe(0);
  });

  test("`--force` stops the first in order and takes its place", async ({ world, expect }) => {
    const { home, gateway } = await world.start();
    world.telegram.say("to the first");
    await world.told("to the first");
    const next = await home.start({ args: ["--force"] });
    expect(await gateway.ended).toBe(0);
    world.telegram.say("to the next");
    await world.told("to the next");
    expect(await next.kill()).toBe(0);
    expect(world.telegram.shown(1001)).toHaveLength(2);
  });

  test("a state that another program wrote last: channels stay off until it is adopted", async ({ world, expect }) => {
    const home = await world.home();
    await mkdir(join(home.stateDir, "agents", "main", "sessions"), { recursive: true });
    await writeFile(join(home.stateDir, "agents", "main", "sessions", "sessions.json"), "{}");
    const gateway = await home.start();
    await gateway.logged("channels stay off");
    await greeted(gateway);
    expect(gateway.output).toContain("onboard --adopt");
    expect((await home.run(["status"])).stdout).toContain("All channels are off: another program");
    expect(world.telegram.polls.count).toBe(0);
    const config = await readFile(home.configPath, "utf8");
    const adopted = await home.run(["onboard", "--adopt"]);
    expect(adopted.code, adopted.stderr).toBe(0);
    expect(await readFile(home.configPath, "utf8")).toBe(config);
    await gateway.kill();
    await home.start();
    world.telegram.say("now");
    await world.told("now");
  });

  test("a daemon that was killed leaves no lock that matters", async ({ world, expect }) => {
    const { home, gateway } = await world.start(WEB_ONLY);
    await gateway.kill("SIGKILL");
    const next = await home.start();
    expect(await next.kill()).toBe(0);
  });

  test("a port in use: the message names the process", async ({ world, expect }) => {
    const { gateway } = await world.start(WEB_ONLY);
    const other = await world.home(world.config({ ...WEB_ONLY, gateway: { port: gateway.port } }));
    const failed = await other.run(["gateway", "run"]);
    expect(failed.code).toBe(78);
    expect(failed.stderr).toContain(`Port ${gateway.port}`);
    expect(failed.stderr).toContain(String(gateway.pid));
    expect(failed.ms).toBeLessThan(SOON_MS);
  });

  test("an invalid config: file, line, cause and what to run", async ({ world, expect }) => {
    const home = await world.home();
    await writeFile(home.configPath, '{\n  // note\n  "gateway": {\n    "porrt": 1\n  }\n}\n');
    const failed = await home.run(["gateway", "run"]);
    expect(failed.code).toBe(78);
    expect(failed.stderr).toContain("openclaw.json:4");
    expect(failed.stderr).toContain("porrt");
    expect(failed.stderr).toContain("gateway.port");
    expect(failed.stderr).toMatch(/fix: .*openclaw/);
    await writeFile(home.configPath, '{\n  "gateway": {\n');
    const broken = await home.run(["gateway", "run"]);
    expect(broken.code).toBe(78);
    expect(broken.stderr).toMatch(/openclaw\.json:\d+:\d+/);
    expect(existsSync(join(home.stateDir, "state", "gateway.lock"))).toBe(false);
  });

  test("a public address without a token of its own still asks for one", async ({ world, expect }) => {
    const { gateway } = await world.start({ ...WEB_ONLY, gateway: { auth: { mode: "none" } } });
    expect((await fetch(`http://127.0.0.1:${gateway.port}/v1/models`)).status).toBe(401);
    expect(gateway.lines.some((line) => line["level"] === "warn" && /none/.test(String(line["msg"])))).toBe(true);
  });
});

describe.concurrent("a signal", () => {
  test("lets the run under way finish, delivers its answer and exits 0", async ({ world, expect }) => {
    const { home, gateway } = await world.start();
    const { release } = hold(world);
    world.telegram.say("wait for me");
    await world.model.called(1);
    gateway.signal("SIGTERM");
    await gateway.logged("stopping");
    expect(world.telegram.shown(1001)).toEqual([]);
    release();
    expect(await gateway.ended).toBe(0);
    expect(world.telegram.shown(1001)).toHaveLength(1);
    expect(inboxOf(home)).toMatchObject([{ state: "done", outcome: { kind: "replied" } }]);
    expect(existsSync(join(home.stateDir, "state", "gateway.lock"))).toBe(false);
  });

  test("twice ends at once, and the message is answered after the next start", async ({ world, expect }) => {
    const { home, gateway } = await world.start();
    world.model.answer((call, number) => (number === 1 ? "hang" : { text: `after all: ${call.said}` }));
    world.telegram.say("do not forget me");
    await world.model.called(1);
    gateway.signal("SIGTERM");
    await gateway.logged("stopping");
    const began = performance.now();
    expect(await gateway.kill("SIGTERM")).toBe(143);
    expect(performance.now() - began).toBeLessThan(SOON_MS);
    await home.start();
    await world.told("do not forget me");
    expect(await outcomesOf(home, 1)).toEqual([{ kind: "replied" }]);
    expect(world.telegram.shown(1001)).toHaveLength(1);
  });

  test("while a message waits in line: it is answered after the next start", async ({ world, expect }) => {
    const { home, gateway } = await world.start({ messages: { queue: { mode: "followup" } } });
    const { release } = hold(world);
    world.telegram.say("first");
    await world.model.called(1);
    world.telegram.say("second");
    await gateway.logged((line) => line["msg"] === "received" && line["inbox"] === 2);
    gateway.signal("SIGTERM");
    await gateway.logged("stopping");
    release();
    expect(await gateway.ended).toBe(0);
    await home.start();
    await world.told("second");
    expect(await outcomesOf(home, 2)).toEqual([{ kind: "replied" }, { kind: "replied" }]);
  });
});

describe.concurrent("a config that changes while it runs", () => {
  test("is applied to the next message", async ({ world, expect }) => {
    const { home, gateway } = await world.start();
    world.telegram.say("before");
    expect((await world.told("before")).text).not.toContain("[claw]");
    await home.writeConfig(world.config({ messages: { responsePrefix: "[claw]" } }));
    const line = await gateway.logged("config applied");
    expect(line["keys"]).toContain("messages.responsePrefix");
    world.telegram.say("after");
    expect((await world.told("after")).text).toMatch(/^\[claw\] /);
  });

  test("waits for a restart where it must, and says so", async ({ world, expect }) => {
    const { home, gateway } = await world.start(WEB_ONLY);
    await greeted(gateway);
    await home.writeConfig(world.config({ ...WEB_ONLY, gateway: { port: 18_999 } }));
    await gateway.logged("restart needed: gateway.port");
    const status = await home.run(["status", "--json"]);
    expect(status.code, status.stderr).toBe(0);
    expect(status.stdout).toContain("restart needed: gateway.port");
    expect((await home.run(["status"])).stdout).toContain("gateway.port (fix: Run: openclaw gateway run --force)");
    const gatewayKeys = { port: 18_999, reload: { debounceMs: 301 } };
    await home.writeConfig(world.config({ ...WEB_ONLY, gateway: gatewayKeys }));
    await gateway.logged("restart needed: gateway.reload.debounceMs");
    expect((await home.run(["status"])).stdout).toContain("restart needed: gateway.port");
    expect((await fetch(`http://127.0.0.1:${gateway.port}/healthz`)).status).toBe(200);
  });

  test("is invalid: the old one stays, and log, status and readyz report it", async ({ world, expect }) => {
    const { home, gateway } = await world.start();
    await writeFile(home.configPath, '{ "gateway": { "porrt": 1 } }');
    await gateway.logged("config file is invalid: the running config stays");
    world.telegram.say("still there?");
    await world.told("still there?");
    const ready = await fetch(`http://127.0.0.1:${gateway.port}/readyz`);
    expect(JSON.stringify(await ready.json())).toContain("porrt");
    const status = await home.run(["status", "--json"]);
    expect(status.stdout).toContain("porrt");
    await home.writeConfig(world.config());
    await expect
      .poll(
        async () =>
          ((await (await fetch(`http://127.0.0.1:${gateway.port}/readyz`)).json()) as { problems: [] }).problems,
      )
      .toEqual([]);
  });

  test("connects a channel that was just added", async ({ world, expect }) => {
    const { home, gateway } = await world.start(WEB_ONLY);
    expect(world.telegram.polls.count).toBe(0);
    await home.writeConfig(world.config());
    await gateway.logged("config applied");
    world.telegram.say("hello new channel");
    await world.told("hello new channel");
  });
});

describe.concurrent("secrets", () => {
  test("are in no log, no transcript and no line of output", async ({ world, expect }) => {
    const apiKey = "walkkey-AbCdEf0123456789-unusual";
    const { home, gateway } = await world.start({
      logging: { level: "debug", consoleLevel: "debug" },
      models: { providers: { fake: { apiKey } } },
    });
    world.model.answer((call) =>
      call.said.endsWith("break")
        ? { status: 401, message: `Incorrect API key provided: ${apiKey}` }
        : { text: "fine" },
    );
    world.telegram.say("hello");
    await world.told("fine");
    world.telegram.fail("sendMessage", "drop", 1);
    world.telegram.say("again");
    await outcomesOf(home, 2);
    world.telegram.say("break");
    await world.told("⚠️");
    world.telegram.fail("getFile", "400", 1);
    world.telegram.say("", {
      more: { photo: [{ file_id: "x", file_unique_id: "x", width: 1, height: 1 }], text: undefined },
    });
    await outcomesOf(home, 4);
    await fetch(`http://127.0.0.1:${gateway.port}/?token=${TOKEN}`);
    await fetch(`http://127.0.0.1:${gateway.port}/v1/models`, { headers: { authorization: `Bearer ${TOKEN}` } });
    await home.writeConfig(world.config({ models: { providers: { fake: { apiKey: `${apiKey}2` } } } }));
    await gateway.logged("config applied");
    await gateway.kill();

    const secrets = [apiKey, world.telegram.token, world.telegram.token.split(":")[1]!, TOKEN];
    const logs = readdirSync(join(home.stateDir, "logs")).map((name) => join(home.stateDir, "logs", name));
    const transcripts = readdirSync(join(home.stateDir, "sessions")).map((name) =>
      join(home.stateDir, "sessions", name),
    );
    expect(logs.length).toBeGreaterThan(0);
    for (const file of [...logs, ...transcripts]) {
      const text = readFileSync(file, "utf8");
      for (const secret of secrets) expect(text.includes(secret), `${file} holds ${secret.slice(0, 8)}…`).toBe(false);
    }
    for (const file of logs) {
      expect(modeOf(file)).toBe("600");
      for (const line of readFileSync(file, "utf8").trim().split("\n"))
        expect(JSON.parse(line)).toMatchObject({
          level: expect.any(String),
          time: expect.any(String),
          msg: expect.any(String),
        });
    }
    const printed = gateway.output.split("\n").filter((line) => !line.includes("/#token="));
    for (const secret of secrets)
      expect(printed.filter((line) => line.includes(secret)).map((line) => line.slice(0, 200))).toEqual([]);
  });
});
