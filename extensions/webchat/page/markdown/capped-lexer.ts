import { Lexer, Tokenizer } from "marked";
import type { MarkedOptions, Token, Tokens } from "marked";

/** Maximum levels of nested quotes and lists, and of nested spans. Deeper levels are shown as their source. */
const MAX_DEPTH = 24;
/** Maximum characters of a text in which spans are searched. The search takes quadratic time. */
const MAX_INLINE = 10_000;

/**
 * Reads Markdown that a stranger may have written. marked calls itself for each level, so a few thousand `>` would cause a stack
 * overflow. This lexer stops at `MAX_DEPTH` and leaves deeper levels as text.
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

  override reflink(...args: Parameters<Tokenizer["reflink"]>): ReturnType<Tokenizer["reflink"]> {
    return this.#deeper(() => super.reflink(...args));
  }

  override emStrong(...args: Parameters<Tokenizer["emStrong"]>): ReturnType<Tokenizer["emStrong"]> {
    return this.#deeper(() => super.emStrong(...args));
  }

  override del(...args: Parameters<Tokenizer["del"]>): ReturnType<Tokenizer["del"]> {
    return this.#deeper(() => super.del(...args));
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
