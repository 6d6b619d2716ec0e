import type { ChannelLink } from "../types/channel.ts";
import type { Clock } from "../types/clock.ts";

/** When something last came, left, or proved that the platform is there; epoch milliseconds. */
export interface Times {
  inbound: number | undefined;
  outbound: number | undefined;
  transport: number | undefined;
}

export const emptyTimes = (): Times => ({ inbound: undefined, outbound: undefined, transport: undefined });

/** The same link, with the time of each successful send noted. */
export function watchedLink(link: ChannelLink, times: Times, clock: Clock): ChannelLink {
  return {
    async send(to, part, options) {
      const result = await link.send(to, part, options);
      if (result.kind === "sent") times.outbound = clock.now();
      return result;
    },
    ...(link.edit && { edit: link.edit.bind(link) }),
    ...(link.remove && { remove: link.remove.bind(link) }),
    ...(link.grow && { grow: link.grow.bind(link) }),
    ...(link.typing && { typing: link.typing.bind(link) }),
    ...(link.react && { react: link.react.bind(link) }),
    ...(link.find && { find: link.find.bind(link) }),
    ...(link.unanswered && { unanswered: link.unanswered.bind(link) }),
    ...(link.missedSince && { missedSince: link.missedSince.bind(link) }),
    ...(link.download && { download: link.download.bind(link) }),
    close: () => link.close(),
  };
}
