import { parseDirectives } from "../reply/directives.ts";
import type { RunEventBody } from "../types/run/events.ts";

type MessageEnd = Extract<RunEventBody, { type: "message_end" }>;

/** The requests in the text of an answer, as `message_end` has them; none where the text has no directives. */
export function askedIn(text: string): Pick<MessageEnd, "media" | "audioAsVoice" | "replyTo"> {
  if (!text.includes("[[")) return {};
  const { media, audioAsVoice, replyTo } = parseDirectives(text);
  return {
    ...(media.length > 0 && { media }),
    ...(audioAsVoice && { audioAsVoice }),
    ...(replyTo && { replyTo }),
  };
}
