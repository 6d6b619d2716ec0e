import type { ChannelLink } from "../types/channel.ts";
import type { Clock } from "../types/clock.ts";
import { overlay } from "../utils/overlay.ts";

/** When something last came, left, or proved that the platform is there; epoch milliseconds. */
export interface Times {
  inbound: number | undefined;
  outbound: number | undefined;
  transport: number | undefined;
}

export const emptyTimes = (): Times => ({ inbound: undefined, outbound: undefined, transport: undefined });

/** The same link, with the time of each successful send noted. */
export function watchedLink(link: ChannelLink, times: Times, clock: Clock): ChannelLink {
  return overlay(link, {
    async send(to, part, options) {
      const result = await link.send(to, part, options);
      if (result.kind === "sent") times.outbound = clock.now();
      return result;
    },
  });
}
