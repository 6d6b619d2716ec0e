import { expect, test } from "vitest";
import { telegram } from "../../extensions/telegram/index.ts";
import { startChannels } from "../../src/channels/channels.ts";
import { channelChecks } from "../../src/channels/checks.ts";
import type { ConfiguredAccount } from "../../src/channels/ports.ts";
import { systemClock } from "../../src/types/clock.ts";
import { DEFAULT_ACCOUNT } from "../../src/types/ids.ts";
import type { Log } from "../../src/types/log.ts";
import { startFakeTelegram } from "../fakes/telegram.ts";
import { memoryValues } from "../kit/store/memory-values.ts";

const silent: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => silent };

test("a Telegram account connects, answers, and is in the status", async () => {
  const fake = await startFakeTelegram();
  const config = telegram.config.parse({ botToken: fake.token, apiRoot: fake.url });
  const account: ConfiguredAccount = { adapter: telegram, account: DEFAULT_ACCOUNT, config, enabled: true };
  const channels = startChannels({
    adapters: [account],
    values: memoryValues(),
    media: { read: async () => new Uint8Array() },
    log: silent,
    clock: systemClock,
    async receive(messages) {
      for (const { from, text } of messages) {
        const part = { kind: "text", body: `you said ${text}`, plain: text, format: "plain" } as const;
        await channels.link(from.channel, from.account)?.send(from, part, { idempotencyKey: text });
      }
    },
  });
  // Written while the gateway was away.
  fake.say("hello");
  await fake.waitFor((call) => call.text === "you said hello");
  expect(channels.status()[0]).toMatchObject({ lifecycle: "running", connected: true, self: { name: "@test_bot" } });
  const [check] = channelChecks([account]);
  expect(await check?.run(AbortSignal.timeout(2000))).toEqual([{ status: "ok", message: "answers as @test_bot" }]);
  await channels.close();
  await fake.close();
});
