import { parseDirectives } from "../reply/directives.ts";

/** What `message_end` tells of the files that an answer brings: nothing without any. */
export function mediaIn(text: string): { readonly media?: readonly string[] } {
  if (!text.includes("[[")) return {};
  const { media } = parseDirectives(text);
  return media.length === 0 ? {} : { media };
}
