import type { ChannelAdapter, ChannelLink } from "../../src/types/chat/channel.ts";
import type { OutboundText, TextFormat } from "../../src/types/chat/reply.ts";
import { Host } from "./host.ts";
import type { AnyPlatform } from "./platform.ts";

export interface Running<P extends AnyPlatform = AnyPlatform> {
  readonly platform: P;
  readonly host: Host;
  readonly link: ChannelLink;
}

export const KEY = { idempotencyKey: "k" };

/** How text becomes a part in a platform's format. */
export const textAs =
  (format: TextFormat) =>
  (body: string, plain = body): OutboundText => ({ kind: "text", body, plain, format });
export const text = textAs("plain");

/** Connects the adapter of a platform with a host of its own, with `config` in place of some keys. Ended by `stopAll`. */
export async function start<P extends AnyPlatform>(platform: P, host = new Host(), config = {}): Promise<Running<P>> {
  // A suite takes adapters of every config: the adapter checks the given one when it connects.
  const adapter = platform.adapter as ChannelAdapter;
  const link = await adapter.connect(adapter.config.parse({ ...platform.config, ...config }), host);
  running.push({ platform, host, link });
  return { platform, host, link };
}
const running: Running[] = [];

/** Closes a platform without a connection after the test. */
export function closeLater(platform: AnyPlatform): void {
  idle.push(platform);
}
const idle: AnyPlatform[] = [];

export async function stopAll(): Promise<void> {
  for (const platform of idle.splice(0)) await platform.close();
  for (const { link, platform, host } of running.splice(0)) {
    await link.close();
    await platform.close();
    await host.clean();
  }
}
