import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "vitest";
import { SOON_MS, TOKEN } from "../kit/gateway/process.ts";
import { outcomesOf } from "../kit/gateway/state-files.ts";
import { test } from "../kit/gateway/world.ts";

const WEB_ONLY = { channels: { telegram: { enabled: false } } };
const json = (text: string) => JSON.parse(text) as Record<string, unknown>;

describe.concurrent("the command line without a gateway", () => {
  test("answers a message in its own process and keeps the conversation", async ({ world, expect }) => {
    const home = await world.home(world.config(WEB_ONLY));
    const first = await home.run(["agent", "--local", "--message", "my number is 4711"]);
    expect(first.code, first.stderr).toBe(0);
    expect(first.stdout).toContain("my number is 4711");
    const second = await home.run(["agent", "--local", "--message", "which number?", "--json"]);
    expect(second.code, second.stderr).toBe(0);
    expect(json(second.stdout)).toMatchObject({ status: "ok", text: expect.stringContaining("which number?") });
    const asked = JSON.stringify(world.model.calls.at(-1)?.messages);
    expect(asked).toContain("my number is 4711");
  });

  test("answers with the demo model when there is no config", async ({ world, expect }) => {
    const home = await world.home({});
    const answer = await home.run(["agent", "--local", "--message", "hello"]);
    expect(answer.code, answer.stderr).toBe(0);
    expect(answer.stdout).toContain("hello");
  });

  test("reports a failed run with exit code 1", async ({ world, expect }) => {
    const home = await world.home(world.config(WEB_ONLY));
    world.model.answer(() => ({ status: 401, message: "no" }));
    const failed = await home.run(["agent", "--local", "--message", "hello"]);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain("error:");
  });

  test("says what is missing, with the exit code of its kind", async ({ world, expect }) => {
    const home = await world.home(world.config(WEB_ONLY));
    const health = await home.run(["health"]);
    expect(health.code).toBe(75);
    expect(health.stderr).toMatch(/fix: /);
    const status = await home.run(["status"]);
    expect(status.code).toBe(0);
    expect(status.stdout).toContain("not running");
    expect((await home.run(["doktor"])).code).toBe(2);
    expect((await home.run(["gateway", "stop"])).code).toBe(0);
    const version = await home.run(["--version"]);
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe.concurrent("the command line over a running gateway", () => {
  test("asks the agent, sees the state and reads the conversation", async ({ world, expect }) => {
    const { home, gateway } = await world.start();
    world.telegram.say("words from the phone");
    await world.told("words from the phone");
    await outcomesOf(home, 1);

    const answer = await home.run(["agent", "--message", "words from the shell", "--json"]);
    expect(answer.code, answer.stderr).toBe(0);
    expect(json(answer.stdout)).toMatchObject({ status: "ok", text: expect.stringContaining("words from the shell") });

    const status = json((await home.run(["status", "--json"])).stdout);
    expect(status).toMatchObject({ stateDir: home.stateDir, config: { valid: true } });
    expect(JSON.stringify(status)).toContain(String(gateway.port));
    const human = await home.run(["status"]);
    expect(human.stdout).toContain("fake/fake-1");
    expect(json((await home.run(["health", "--json"])).stdout)).toMatchObject({ ok: true });

    const listed = json((await home.run(["sessions", "list", "--json"])).stdout);
    expect(listed["count"]).toBe(2);
    const keys = (listed["sessions"] as { key: string }[]).map((row) => row.key);
    const phone = keys.find((key) => key.includes("telegram")) ?? "";
    const shown = await home.run(["sessions", "show", phone]);
    expect(shown.code, shown.stderr).toBe(0);
    expect(shown.stdout).toContain("words from the phone");
    const exported = await home.run(["sessions", "export", phone]);
    expect(json(exported.stdout.split("\n")[0] ?? "")).toMatchObject({ type: "session", version: 3 });
    const markdown = await home.run(["sessions", "export", phone, "--format", "markdown"]);
    expect(markdown.stdout).toContain("words from the phone");

    const logs = await home.run(["logs", "--json", "--limit", "500"]);
    expect(
      logs.stdout
        .trim()
        .split("\n")
        .map(json)
        .map((line) => line["msg"]),
    ).toContain("received");
    expect((await home.run(["logs", "--plain"])).stdout).toContain("received");
    const url = `http://127.0.0.1:${gateway.port}/#token=${TOKEN}\n`;
    expect((await home.run(["dashboard", "--no-open"])).stdout).toBe(url);
    const gone = await home.run(["sessions", "show", "telegram:default:9999"]);
    expect(gone.code).toBe(1);
    expect(await gateway.kill()).toBe(0);
    const offline = json((await home.run(["sessions", "list", "--json"])).stdout);
    expect(offline["count"]).toBe(2);
    expect(readdirSync(join(home.stateDir, "sessions")).length).toBeGreaterThanOrEqual(3);
  });

  test("doctor finds nothing wrong, in time", async ({ world, expect }) => {
    const { home, gateway } = await world.start();
    world.telegram.say("hello");
    await world.told("hello");
    expect(gateway.port).toBeGreaterThan(0);
    const doctor = await home.run(["doctor", "--json"]);
    const report = JSON.stringify(JSON.parse(doctor.stdout));
    expect(doctor.code, report).toBe(0);
    expect(doctor.ms).toBeLessThan(SOON_MS);
    expect(report).not.toContain(TOKEN);
    expect(report).not.toContain(world.telegram.token);
    expect(report).not.toMatch(/"status":"fail"/);
  });

  test("sets a value and keeps the comments; the gateway takes it up", async ({ world, expect }) => {
    const { home, gateway } = await world.start();
    const { writeFile } = await import("node:fs/promises");
    await writeFile(home.configPath, `// kept\n${readFileSync(home.configPath, "utf8")}`);
    const set = await home.run(["config", "set", "messages.responsePrefix", "[set]"]);
    expect(set.code, set.stderr).toBe(0);
    expect(readFileSync(home.configPath, "utf8")).toMatch(/^\/\/ kept\n/);
    // The comment alone may have been taken up before.
    await gateway.logged(({ msg, keys }) => msg === "config applied" && String(keys).includes("responsePrefix"));
    world.telegram.say("after");
    expect((await world.told("after")).text).toMatch(/^\[set\]/);
    expect((await home.run(["config", "get", "gateway.auth.token"])).stdout).not.toContain(TOKEN);
    expect((await home.run(["config", "validate"])).code).toBe(0);
  });

  test("delivers to a chat when asked to", async ({ world, expect }) => {
    const { home } = await world.start();
    world.telegram.say("hello");
    await world.told("hello");
    await outcomesOf(home, 1);
    world.model.answer(() => ({ text: "the shell sends its regards" }));
    const sent = await home.run([
      "agent",
      "--message",
      "greet them",
      "--channel",
      "telegram",
      "--to",
      "1001",
      "--deliver",
    ]);
    expect(sent.code, sent.stderr).toBe(0);
    expect((await world.told("the shell sends its regards")).chatId).toBe("1001");
  });
});
