import { Lexer, Tokenizer } from "marked";
import type { MarkedOptions, Token, Tokens } from "marked";

/** Levels of quotes and lists within each other, and of spans within each other; what lies deeper is shown as its source. */
const MAX_DEPTH = 24;
/** Characters of one run of text in which spans are looked for. Looking takes up to the square of it. */
const MAX_INLINE = 10_000;

/**
 * Reads Markdown that a stranger may have written. marked calls itself once for each level, so that a few thousand `>` end
 * in a stack overflow; this one stops at `MAX_DEPTH`, in either direction, and leaves the rest as text.
 */
export class CappedLexer extends Lexer {
  constructor(options: MarkedOptions) {
    super({ ...options, tokenizer: new CappedTokenizer() });
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    if (src.length <= MAX_INLINE) return super.inlineTokens(src, tokens);
    tokens.push({ type: "text", raw: src, text: src, escaped: false });
    return tokens;
  }
}

class CappedTokenizer extends Tokenizer {
  #depth = 0;

  override blockquote(src: string): Tokens.Blockquote | undefined {
    return this.#deeper(() => super.blockquote(src));
  }

  override list(src: string): Tokens.List | undefined {
    return this.#deeper(() => super.list(src));
  }

  override link(src: string): Tokens.Link | Tokens.Image | undefined {
    return this.#deeper(() => super.link(src));
  }

  override reflink(...asked: Parameters<Tokenizer["reflink"]>): ReturnType<Tokenizer["reflink"]> {
    return this.#deeper(() => super.reflink(...asked));
  }

  override emStrong(...asked: Parameters<Tokenizer["emStrong"]>): ReturnType<Tokenizer["emStrong"]> {
    return this.#deeper(() => super.emStrong(...asked));
  }

  override del(...asked: Parameters<Tokenizer["del"]>): ReturnType<Tokenizer["del"]> {
    return this.#deeper(() => super.del(...asked));
  }

  #deeper<T>(read: () => T | undefined): T | undefined {
    if (this.#depth >= MAX_DEPTH) return undefined;
    this.#depth += 1;
    try {
      return read();
    } finally {
      this.#depth -= 1;
    }
  }
}
