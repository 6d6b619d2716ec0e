import { parseDirectives } from "../reply/directives.ts";
import type { RunEventBody } from "../types/run/events.ts";

type MessageEnd = Extract<RunEventBody, { type: "message_end" }>;

/** What the text of an answer asks for, as `message_end` has it; nothing without any. */
export function askedIn(text: string): Pick<MessageEnd, "media" | "audioAsVoice" | "replyTo"> {
  if (!text.includes("[[")) return {};
  const { media, audioAsVoice, replyTo } = parseDirectives(text);
  return {
    ...(media.length > 0 && { media }),
    ...(audioAsVoice && { audioAsVoice }),
    ...(replyTo && { replyTo }),
  };
}
