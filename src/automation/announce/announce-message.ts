import type { AnnounceTurn, InboundMessage, Peer } from "../../types/chat/message.ts";
import { channelId, DEFAULT_ACCOUNT, type RunId, type SessionKey } from "../../types/ids.ts";

/** The channel of announcements. No adapter has this name. */
const ANNOUNCE = channelId("announce");

/** Name of the turn kind in messages. */
export const ANNOUNCE_KIND = "announce";

/** The end of a subagent: the session that gets the message about it, and the chat that gets the agent's answer. */
export interface Announcement {
  readonly facts: Omit<AnnounceTurn, "event">;
  /** The session that asked for the subagent. */
  readonly parent: SessionKey;
  /** The chat that gets the agent's answer about the result; unset when there is none. */
  readonly to: Peer | undefined;
  /** The run that asked for the subagent; unset when a person did. */
  readonly by: RunId | undefined;
  /** Message for the session above this one, sent when this session has nothing left to wait for. */
  readonly whenEnded: InboundMessage | undefined;
}

/** The message that a session gets when a subagent has ended. Its text is made when its turn begins. */
export function announceMessage({ facts, parent, to, by, whenEnded }: Announcement): InboundMessage {
  const id = `subagent:${facts.runId}:1`;
  return {
    id,
    eventKey: id,
    from: { channel: ANNOUNCE, account: DEFAULT_ACCOUNT, chat: { kind: "direct", id: parent } },
    sender: { id: "gateway", name: "Subagent" },
    text: "",
    media: [],
    mentionsBot: true,
    receivedAt: facts.startedAt,
    options: {
      operator: true,
      sessionKey: parent,
      kind: ANNOUNCE_KIND,
      announce: facts,
      ...(to && { deliverTo: to }),
      ...(by !== undefined && { broughtBy: by }),
      ...(whenEnded && { whenEnded }),
    },
  };
}
