import { TextDecoder } from "node:util";
import { visibleText } from "../../../utils/text/clean-text.ts";
import { articleOf, cutAfter } from "./article.ts";
import { markdownOf, plainTextOf } from "./markdown.ts";
import type { NoText, PageJob, PageText } from "./page-job.ts";
import { StyleRules } from "./styles/style-rules.ts";
import { visibleMarkup, type VisibleMarkup } from "./visible-markup.ts";

/** Characters of markup that are searched for the text: the search takes longer with each character. */
const LEAST_MARKUP = 128_000;
const MARKUP_PER_CHAR = 6;
/** Most characters of text of a page that consists of scripts. */
const FEW_CHARS = 200;

/** The visible text of an answer. Keeps the thread busy until it is done. */
export function readPage(job: PageJob): PageText | NoText {
  const raw = decoded(job.bytes, job.charset);
  if (raw.includes("\0")) return { noText: true };
  const rawLength = raw.length;
  if (job.kind === "html" || (job.kind === "unnamed" && HTML.test(raw))) return { ...pageOf(raw, job), rawLength };
  const plain = { title: "", rawLength };
  if (job.kind === "json") return { ...plain, extractor: "json", ...shown(indented(raw), job.most) };
  if (job.kind === "markdown")
    return { ...plain, extractor: "server-markdown", ...shown(withoutHtmlComments(raw), job.most) };
  return { ...plain, extractor: "text", ...shown(raw, job.most) };
}

const HTML = /^\s*(?:<!--[^]{0,500}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b/i;

/** The visible part of a text. Lines end with a line feed alone, and invisible characters are removed. */
function shown(text: string, most: number): { text: string; isCut: boolean } {
  // A text may be invisible for the most part.
  const start = text.slice(0, 8 * most);
  const visible = visibleText(start.replaceAll(/\r\n?/g, "\n")).trim();
  return { text: visible.slice(0, most).toWellFormed(), isCut: visible.length > most || start.length < text.length };
}

function indented(raw: string): string {
  try {
    return JSON.stringify(JSON.parse(raw), undefined, 2);
  } catch {
    // The text is cut, nested too deeply, or no JSON at all, so it stays as it is.
    return raw;
  }
}

/** Markdown without comments, which are not shown when it is rendered. */
function withoutHtmlComments(text: string): string {
  let kept = "";
  for (let at = 0; ;) {
    const begin = text.indexOf("<!--", at);
    if (begin < 0) return kept + text.slice(at);
    kept += text.slice(at, begin);
    const end = text.indexOf("-->", begin + 4);
    if (end < 0) return kept;
    at = end + 3;
  }
}

function pageOf(raw: string, { url, mode, readability, most }: PageJob): Omit<PageText, "rawLength"> {
  const limit = Math.max(LEAST_MARKUP, MARKUP_PER_CHAR * most);
  const rules = new StyleRules(raw);
  const whole = visibleMarkup(raw, { url, most: limit, onlyMain: false }, rules);
  // The text of a page with large menus begins after them.
  const markup = whole.isCut ? visibleMarkup(raw, { url, most: limit, onlyMain: true }, rules) : whole;
  const article = articleOf(markup.html, { title: markup.title, readability });
  const isPruned = cutAfter(article.root, 2 * most);
  const { text, isCut } = shown(mode === "text" ? plainTextOf(article.root) : markdownOf(article.root), most);
  return {
    text,
    title: visibleText(article.title).replaceAll(/\s+/g, " ").trim().slice(0, 300),
    extractor: article.isReadable ? "readability" : "plain",
    isCut: isCut || isPruned || markup.isCut,
    ...(markup.leadsTo !== undefined && { leadsTo: markup.leadsTo }),
    ...doubtAbout(markup, text),
  };
}

function doubtAbout({ shown: seen, hidden, scripts }: VisibleMarkup, text: string): Pick<PageText, "doubt"> {
  if (hidden > seen && hidden > FEW_CHARS) return { doubt: "hidden" };
  return scripts > 0 && text.length < FEW_CHARS ? { doubt: "scripts" } : {};
}

/** Bytes at the beginning of a page in which it may name its encoding. */
const META_BYTES = 4096;

/**
 * Text of bytes: by their byte order mark, else by the header, else by the encoding that the page names, else UTF-8 if
 * the bytes are valid, else Windows-1252, as in browsers. Never throws.
 */
function decoded(bytes: Uint8Array, charset: string | undefined): string {
  const label = markOf(bytes) ?? charset ?? metaOf(bytes);
  return label === undefined ? undeclared(bytes) : decoderOf(label).decode(bytes);
}

function undeclared(bytes: Uint8Array): string {
  try {
    // The last character may be cut.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

function decoderOf(label: string): TextDecoder {
  try {
    return new TextDecoder(label);
  } catch {
    // The encoding is unknown; most texts are UTF-8.
    return new TextDecoder();
  }
}

function markOf([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return first === 0xff && second === 0xfe ? "utf-16le" : undefined;
}

function metaOf(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, META_BYTES)).toString("latin1");
  return /<(?:meta|\?xml)[^>]{0,300}?(?:charset|encoding)\s{0,9}=\s{0,9}["']?([\w-]{1,40})/i.exec(start)?.[1];
}
