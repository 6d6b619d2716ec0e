import DOMPurify from "dompurify";
import { Marked, type Token, type Tokens, Lexer, Tokenizer, type MarkedOptions } from "marked";

const ALLOWED_TAGS =
  "a blockquote br button code del div em h1 h2 h3 h4 h5 h6 hr img input li ol p pre span strong table tbody td th thead tr ul";
const ALLOWED_ATTR = "alt align checked class disabled href rel src start target title type".split(" ");

const marked = new Marked({ gfm: true, breaks: true, renderer: { html, code, image, link, table } });

/** A top-level block of a Markdown text as safe HTML. An unchanged block keeps its HTML while the text grows. */
export interface Block {
  readonly source: string;
  readonly html: string;
}

/** Above these limits Markdown is shown as its source: characters of a text, characters of a block, number of blocks. */
const LIMITS = { text: 200_000, block: 100_000, blocks: 3000 } as const;
/** Maximum characters of a block of plain text. */
const PLAIN_BLOCK = 50_000;

/**
 * Converts Markdown to blocks of safe HTML. While the text grows, an unfinished fence or span at its end is completed. A text
 * that cannot be converted, or not within a second, becomes plain text. Never throws.
 */
export function blocksOf(text: string, growing: boolean, before: readonly Block[] = []): readonly Block[] {
  const tokens = isTooLong(text) ? undefined : tokensOf(growing ? completed(text) : text);
  if (tokens === undefined) return plainBlocksOf(text).map((block, index) => reused(block, before[index], plain));
  return tokens.map((token, index) => reused(token.raw, before[index], () => htmlOf(token)));
}

function reused(source: string, earlier: Block | undefined, toHtml: (source: string) => string): Block {
  return earlier?.source === source ? earlier : { source, html: toHtml(source) };
}

const isTooLong = (text: string): boolean =>
  text.length > LIMITS.text || (text.match(/\n\n/g)?.length ?? 0) > LIMITS.blocks;

/** Undefined for a text that the lexer cannot read, or with too many blocks. */
function tokensOf(text: string): readonly Token[] | undefined {
  try {
    const tokens = new CappedLexer(marked.defaults).lex(text).filter(({ type }) => type !== "space" && type !== "def");
    return tokens.length > LIMITS.blocks ? undefined : tokens;
  } catch (error) {
    console.warn("an answer is shown as plain text", error);
    return undefined;
  }
}

function htmlOf(token: Token): string {
  if (token.raw.length > LIMITS.block && token.type !== "code") return plain(token.raw);
  try {
    return safe(token);
  } catch (error) {
    console.warn("a block of an answer is shown as plain text", error);
    return plain(token.raw);
  }
}

const plain = (source: string): string => `<p class="plain">${escaped(source)}</p>`;

/** The text in blocks, cut after line ends where possible. */
function plainBlocksOf(text: string): readonly string[] {
  const blocks: string[] = [];
  for (let start = 0; start < text.length;) {
    const line = text.lastIndexOf("\n", start + PLAIN_BLOCK) + 1;
    const end = line > start && start + PLAIN_BLOCK < text.length ? line : start + PLAIN_BLOCK;
    blocks.push(text.slice(start, end));
    start = end;
  }
  return blocks;
}

function safe(token: Token): string {
  return DOMPurify.sanitize(marked.parser([token]), {
    ALLOWED_TAGS: ALLOWED_TAGS.split(" "),
    ALLOWED_ATTR,
    // Without this list, DOMPurify would check the values of these attributes as addresses.
    ADD_URI_SAFE_ATTR: ["align", "checked", "disabled", "rel", "start", "target", "type"],
    // DOMPurify's own rule for `img` allows data URLs. Links may only have these schemes.
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|tel:|#)/i,
  });
}

/** Removes an incomplete fence from the end of the text, and closes bold and code that are open in the last line. */
function completed(text: string): string {
  const inFence = (text.match(/^ {0,3}(?:```|~~~)/gm)?.length ?? 0) % 2 === 1;
  const whole = text.replace(/(^|\n) {0,3}(?:`{1,2}|~{1,2})$/, "$1");
  return inFence || whole !== text ? whole : withEndedSpans(text);
}

function withEndedSpans(text: string): string {
  const line = text.slice(text.lastIndexOf("\n") + 1);
  const ticks = line.match(/`/g)?.length ?? 0;
  if (ticks % 2 === 1) return line.endsWith("`") ? text.slice(0, -1) : `${text}\``;
  const stars = line.replace(/`[^`]*`/g, "").match(/\*\*/g)?.length ?? 0;
  if (stars % 2 === 0) return text;
  return /\*\*\s*$/.test(text) ? text.replace(/\*\*\s*$/, "") : `${text}**`;
}

function escaped(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/** A model's HTML is shown as text, except a line break. */
function html(token: Tokens.HTML | Tokens.Tag): string {
  return /^<br\s*\/?>$/i.test(token.text.trim()) ? "<br>" : escaped(token.text);
}

function code(token: Tokens.Code): string {
  const language = escaped(token.lang?.split(/\s/)[0] ?? "");
  const bar = `<div class="code-bar"><span>${language}</span><button type="button" class="copy">Copy</button></div>`;
  return `<div class="code">${bar}<pre><code>${escaped(token.text)}</code></pre></div>`;
}

/** Only data URLs become images: fetching another image would reveal the reader's address to its host. */
function image(token: Tokens.Image): string {
  const alt = escaped(token.text || "image");
  if (/^data:image\/(?!svg)/i.test(token.href)) return `<img src="${escaped(token.href)}" alt="${alt}">`;
  return `<a href="${escaped(token.href)}" target="_blank" rel="noopener noreferrer">${alt}</a>`;
}

function link(this: { parser: { parseInline: (tokens: Token[]) => string } }, token: Tokens.Link): string {
  const label = this.parser.parseInline(token.tokens);
  const title = token.title ? ` title="${escaped(token.title)}"` : "";
  return `<a href="${escaped(token.href)}"${title} target="_blank" rel="noopener noreferrer">${label}</a>`;
}

function table(this: { parser: { parseInline: (tokens: Token[]) => string } }, token: Tokens.Table): string {
  const cell = (item: Tokens.TableCell): string => {
    const tag = item.header ? "th" : "td";
    const align = item.align === null ? "" : ` align="${item.align}"`;
    return `<${tag}${align}>${this.parser.parseInline(item.tokens)}</${tag}>`;
  };
  const row = (cells: Tokens.TableCell[]): string => `<tr>${cells.map(cell).join("")}</tr>`;
  const body = token.rows.map(row).join("");
  return `<div class="table"><table><thead>${row(token.header)}</thead><tbody>${body}</tbody></table></div>`;
}

/** Maximum levels of nested quotes and lists, and of nested spans. Deeper levels are shown as their source. */
const MAX_DEPTH = 24;
/** Maximum characters of a text in which spans are searched. The search takes quadratic time. */
const MAX_INLINE = 10_000;

/**
 * Reads Markdown that a stranger may have written. marked calls itself for each level, so a few thousand `>` would cause a stack
 * overflow. This lexer stops at `MAX_DEPTH` and leaves deeper levels as text.
 */
class CappedLexer extends Lexer {
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
