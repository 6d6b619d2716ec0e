import { expect, test } from "vitest";
import { startFakeTelegram } from "../../fakes/telegram.ts";
import { until } from "../../kit/until.ts";
import { startGatewayFixture } from "../../kit/gateway/in-process.ts";

test("the fix for one of several accounts names its own key", async () => {
  const telegram = await startFakeTelegram();
  const accounts = { a: { enabled: false }, c: { botToken: "1:never-given-out" } };
  const fixture = await startGatewayFixture({ enabled: false }, undefined, {
    telegram: { apiRoot: telegram.url, accounts },
  });
  try {
    const status = () => fixture.cli("channels", "status", "--channel", "telegram", "--probe");
    await until(async () => (await status()).out.includes("dead"), "the account");
    const told = (await status()).out.match(/channels\.telegram\.\S+/g);
    expect(told).toEqual(["channels.telegram.accounts.c.botToken;", "channels.telegram.accounts.c.botToken;"]);
  } finally {
    await fixture.close();
    await telegram.close();
  }
});

test("an account that its platform refused is shown wherever an operator looks", async () => {
  const telegram = await startFakeTelegram();
  const account = { botToken: "1:never-given-out", apiRoot: telegram.url };
  const fixture = await startGatewayFixture({ enabled: false }, undefined, { telegram: account });
  try {
    const status = () => fixture.cli("channels", "status", "--channel", "telegram");
    await until(async () => (await status()).out.includes("dead"), "the account");
    const { out } = await fixture.cli("status");
    expect(out).toMatch(/Ready +yes, but Telegram \(default\) is not connected: .+/);
    expect(out).toMatch(/Sandbox +main: auto, (?:works|does not work here)$/m);
    const ready = await fetch(`${fixture.http}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([
      200,
      { ok: true, problems: [expect.stringContaining("Telegram (default)")] },
    ]);
    const metrics = await (await fetch(`${fixture.http}/metrics`)).text();
    expect(metrics).toContain('openclaw_channel_connected{channel="telegram",account="default"} 0');
    const sent = await fixture.cli("message", "send", "--to", "42", "-m", "hello");
    expect(sent).toMatchObject({ code: 1, out: "" });
    expect(sent.err).toMatch(
      /^Waits for telegram chat 42 \(default\): the account is not connected, and stays so until/,
    );
    expect(sent.err).toMatch(/does not know this bot token.*Check channels\.telegram\.botToken/);
    expect(await fixture.json("message", "send", "--to", "42", "-m", "again")).toMatchObject({
      state: "queued",
      isDead: true,
      problem: expect.stringContaining("botToken"),
    });
    const nope = await fixture.cli("channels", "login", "telegram", "--account", "nope");
    expect(nope.err).toMatch(
      /^error CHANNEL_MISSING: The config has no account nope of telegram\.\nfix: It has: default\. /,
    );
    expect(JSON.stringify(await fixture.json("status"))).not.toContain("never-given-out");
  } finally {
    await fixture.close();
    await telegram.close();
  }
});
