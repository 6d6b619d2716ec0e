import type { SlackMessage } from "../events.ts";

/** Marks our messages with the key of their send, so that a later search of the chat's history finds a sent message. */
const MARK = "openclaw_reply";

/** The metadata of a message. */
export const metadataFor = (key: string): { event_type: string; event_payload: { key: string } } => ({
  event_type: MARK,
  event_payload: { key },
});

/** The key in a message's metadata. Undefined where we did not write one. */
export const keyIn = (metadata: SlackMessage["metadata"]): unknown =>
  metadata?.event_type === MARK ? metadata.event_payload["key"] : undefined;
