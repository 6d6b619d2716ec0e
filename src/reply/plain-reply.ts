import { createDirectiveFilter, parseDirectives, type DirectiveFilter, type ParsedReply } from "./directives.ts";
import { createHeartbeatFilter, stripHeartbeatToken } from "./heartbeat-token.ts";

/** What people read of a whole reply: without directives, and without heartbeat tokens at its ends. Never throws. */
export function parseReply(text: string): ParsedReply {
  const parsed = parseDirectives(text);
  const { text: shown, stripped } = stripHeartbeatToken(parsed.text);
  return { ...parsed, text: shown, silent: parsed.silent || (stripped && shown === "") };
}

/** Makes a filter for one message; its joined output is the `text` of `parseReply`. Never throws. */
export function createReplyFilter(): DirectiveFilter {
  const directives = createDirectiveFilter();
  const tokens = createHeartbeatFilter();
  return {
    push: (delta) => tokens.push(directives.push(delta)),
    end: () => tokens.push(directives.end()) + tokens.end(),
    directives: () => directives.directives(),
  };
}

/** Whether a chat would show nothing of a text: only white space, control or format characters, or halves of surrogate pairs. */
export const isUnseen = (text: string): boolean => !/[^\s\p{Cc}\p{Cf}\p{Cs}]/u.test(text);

/** Parses a block of what `createReplyFilter` gave. A token at the edge of a block is a mention inside the answer. */
export const parseBlock = (block: string): ParsedReply => parseDirectives(block);
