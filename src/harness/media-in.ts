import { parseDirectives } from "../reply/directives.ts";

/** The `media` of `message_end`: the files that an answer brings; absent without any. */
export function mediaIn(text: string): { readonly media?: readonly string[] } {
  if (!text.includes("[[")) return {};
  const { media } = parseDirectives(text);
  return media.length === 0 ? {} : { media };
}
