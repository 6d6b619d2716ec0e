import type { ChannelLink, SendResult } from "../../types/chat/channel.ts";
import { overlay } from "../../utils/overlay.ts";

/** When something last came, left, or proved that the platform is there; epoch milliseconds. */
export interface Times {
  inbound: number | undefined;
  outbound: number | undefined;
  transport: number | undefined;
}

export const emptyTimes = (): Times => ({ inbound: undefined, outbound: undefined, transport: undefined });

/** Who is told what became of the sends and edits of a link. */
export interface LinkWatch {
  sent(): void;
  /** The platform refuses the account until a person does what `fix` says. */
  refused(reason: string, fix: string): void;
}

/** The same link; `watch` hears of each successful send, and of the account's refusal by the answer to a send or an edit. */
export function watchedLink(link: ChannelLink, watch: LinkWatch): ChannelLink {
  const told = (result: SendResult): SendResult => {
    if (result.kind === "retry" && result.fix !== undefined) watch.refused(result.reason, result.fix);
    return result;
  };
  const edit = link.edit?.bind(link);
  return overlay(link, {
    async send(to, part, options) {
      const result = told(await link.send(to, part, options));
      if (result.kind === "sent") watch.sent();
      return result;
    },
    ...(edit && { edit: async (...args: Parameters<typeof edit>) => told(await edit(...args)) }),
  });
}
