import { expect, test } from "vitest";
import { startFakeTelegram } from "../fakes/telegram.ts";
import { until } from "../outbox/stage.ts";
import { startChannelStage } from "./channel-stage.ts";

test("an account that its platform turned away is told of wherever an operator looks", async () => {
  const telegram = await startFakeTelegram();
  const account = { botToken: "1:never-given-out", apiRoot: telegram.url };
  const stage = await startChannelStage({ enabled: false }, undefined, { telegram: account });
  try {
    const status = () => stage.cli("channels", "status", "--channel", "telegram");
    await until(async () => (await status()).out.includes("dead"), "the account");
    expect((await stage.cli("status")).out).toMatch(/Ready +yes, but Telegram \(default\) is not connected: .+/);
    const ready = await fetch(`${stage.http}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([
      200,
      { ok: true, problems: [expect.stringContaining("Telegram (default)")] },
    ]);
    const metrics = await (await fetch(`${stage.http}/metrics`)).text();
    expect(metrics).toContain('openclaw_channel_connected{channel="telegram",account="default"} 0');
    expect(JSON.stringify(await stage.json("status"))).not.toContain("never-given-out");
  } finally {
    await stage.close();
    await telegram.close();
  }
});
