import {
  createDirectiveFilter,
  parseDirectives,
  type DirectiveFilter,
  type Directives,
  type ParsedReply,
} from "./directives.ts";
import { createHeartbeatFilter, stripHeartbeatToken } from "./heartbeat-token.ts";
import { createTagStripper } from "./tags.ts";

/**
 * The text of a whole reply that people read: without directives, and without heartbeat tokens at its ends. Never
 * throws.
 */
export function parseReply(text: string): ParsedReply {
  const parsed = parseDirectives(text);
  const { text: shown, stripped } = stripHeartbeatToken(parsed.text);
  return { ...parsed, text: shown, silent: parsed.silent || (stripped && shown === "") };
}

/** Makes a filter for one message; its joined output is the `text` of `parseReply`. Never throws. */
export const createReplyFilter = (): DirectiveFilter => new ReplyFilter();

class ReplyFilter implements DirectiveFilter {
  readonly #directives = createDirectiveFilter();
  readonly #tokens = createHeartbeatFilter();

  push(delta: string): string {
    return this.#tokens.push(this.#directives.push(delta));
  }

  end(): string {
    return this.#tokens.push(this.#directives.end()) + this.#tokens.end();
  }

  directives(): Directives {
    return this.#directives.directives();
  }
}

/** Whether a chat would show nothing of a text: only white space, control or format characters, or halves of surrogate pairs. */
export const isUnseen = (text: string): boolean => !/[^\s\p{Cc}\p{Cf}\p{Cs}]/u.test(text);

/** The whole answer of an agent that keeps the result of another agent's work, or a talk with one, to itself. */
export const ANNOUNCE_SKIP = "ANNOUNCE_SKIP";
/** The whole answer of an agent that has nothing more to say to another one. */
export const REPLY_SKIP = "REPLY_SKIP";

/** Whether an answer is nothing but such a word, with or without the marks that models put around it. People are shown neither. */
export const isSkip = (text: string): boolean => /^[\s*_`"']*(?:ANNOUNCE_SKIP|REPLY_SKIP)[\s*_`"'.!]*$/.test(text);

/**
 * The text that people read of one that a model sends with a tool: no thoughts, marks and directives; empty for
 * silence. Never throws.
 */
export function sentText(text: string): string {
  const tags = createTagStripper();
  // A thought that nothing ends is no answer here: the model may still write one.
  const untagged = tags.push(text) + tags.end(true);
  return isSkip(untagged) ? "" : parseReply(untagged).text;
}

/** Parses a block of what `createReplyFilter` gave. A token at the edge of a block is a mention inside the answer. */
export const parseBlock = (block: string): ParsedReply => parseDirectives(block);
