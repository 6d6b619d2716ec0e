import { expect, test } from "vitest";
import { startChannels } from "../../src/channels/channels.ts";
import { channelMetrics } from "../../src/channels/metrics.ts";
import { formatMetrics } from "../../src/server/metrics.ts";
import { memoryValues } from "../kit/store/memory-values.ts";
import { silent, TestClock, Toy } from "../kit/toy-channel.ts";

test("the silence and the state of an account are reported", async () => {
  const toy = new Toy();
  const clock = new TestClock();
  const channels = startChannels({
    adapters: [toy.account()],
    receive: async () => undefined,
    media: { read: async () => new Uint8Array() },
    values: memoryValues(),
    log: silent,
    clock,
  });
  const told = () => formatMetrics(channelMetrics(channels.status()));
  await clock.pass(1);
  expect(told()).toContain('openclaw_channel_connected{channel="toy",account="default"} 0');
  expect(told()).toContain('openclaw_channel_state{channel="toy",account="default",state="starting"} 1');
  expect(told()).not.toContain("silent");
  toy.host.report({ kind: "alive" });
  await clock.pass(90_000);
  expect(told()).toContain('openclaw_channel_connected{channel="toy",account="default"} 1');
  expect(told()).toContain('openclaw_channel_silent_seconds{channel="toy",account="default"} 90');
  expect(told()).toContain('openclaw_channel_state{channel="toy",account="default",state="running"} 1');
  expect(told()).toContain('openclaw_channel_state{channel="toy",account="default",state="dead"} 0');
  await channels.close();
});
