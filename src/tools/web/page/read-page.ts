import { TextDecoder } from "node:util";
import { visibleText } from "../../../utils/text/clean-text.ts";
import type { NoText, PageJob, PageText } from "./page-job.ts";
import { StyleRules } from "./styles/style-rules.ts";
import { visibleMarkup, type VisibleMarkup } from "./visible-markup.ts";
import TurndownService from "turndown";
import { highlightedCodeBlock, strikethrough, tables } from "turndown-plugin-gfm";
import { Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom";

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

/** The used parts of a DOM node. */
interface PageNode {
  readonly nodeType: number;
  readonly nodeName: string;
  readonly textContent: string;
  readonly childNodes: Iterable<PageNode>;
  getAttribute(name: string): string | null;
  remove(): void;
}

interface Article {
  readonly root: PageNode;
  readonly title: string;
  readonly isReadable: boolean;
}

const TEXT_NODE = 3;
const ELEMENT_NODE = 1;

/** Least characters, and least share of the page's text: an article with less of both is probably no article. */
const LEAST_CHARS = 200;
const LEAST_SHARE = 0.5;

/** The article of a page without hidden parts, or the whole page when it has no article or `readability` is off. */
function articleOf(html: string, { title, readability }: { title: string; readability: boolean }): Article {
  const whole = bodyOf(html, title);
  if (!readability) return { root: whole.body, title, isReadable: false };
  const all = whole.body.textContent.trim().length;
  const article = new Readability<PageNode>(whole, { serializer: (node: PageNode) => node }).parse();
  const root = article?.content;
  const size = article?.textContent?.trim().length ?? 0;
  if (root && size > 0 && (size >= LEAST_CHARS || size >= all * LEAST_SHARE))
    return { root, title: article.title?.trim() || title, isReadable: true };
  // The search for an article changes the document.
  return { root: bodyOf(html, title).body, title, isReadable: false };
}

function bodyOf(html: string, title: string) {
  const head = `<title>${title.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</title>`;
  return parseHTML(`<!doctype html><html><head>${head}</head><body>${html}</body></html>`).document;
}

/** Removes all nodes after so many characters of text and links. Returns whether there were any. */
function cutAfter(root: PageNode, most: number): boolean {
  let left = most;
  let isCut = false;
  const visit = (node: PageNode): void => {
    // A copy of the list, because removing a child changes the node's own list.
    for (const child of Array.from(node.childNodes)) {
      if (left <= 0) {
        isCut ||= child.textContent.trim() !== "";
        child.remove();
        continue;
      }
      if (child.nodeType === TEXT_NODE) left -= child.textContent.length;
      if (child.nodeType !== ELEMENT_NODE) continue;
      left -= child.getAttribute("href")?.length ?? 0;
      visit(child);
    }
  };
  visit(root);
  return isCut;
}

/** A part of a page as Markdown. */
function markdownOf(root: PageNode): string {
  const service = new TurndownService({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-" });
  service.use([tables, strikethrough, highlightedCodeBlock]);
  // Tables that only arrange a page have no headings; their text is worth more than their markup.
  service.addRule("plainTable", {
    filter: (node) => node.nodeName === "TABLE" && node.querySelector("th") === null,
    replacement: (content) => `\n\n${content.trim()}\n\n`,
  });
  service.addRule("emptyLink", { filter: (node) => node.nodeName === "A" && isEmpty(node), replacement: () => "" });
  service.addRule("image", { filter: "img", replacement: (_content, node) => imageOf(node) });
  return tidy(service.turndown(root));
}

const isEmpty = (node: PageNode): boolean => node.textContent.trim() === "";

function imageOf(node: PageNode): string {
  const alt = (node.getAttribute("alt") ?? "").replaceAll(/[\s[\]]+/g, " ").trim();
  return alt === "" ? "" : `![${alt}](${node.getAttribute("src") ?? ""})`;
}

const tidy = (text: string): string =>
  text
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();

const BLOCKS = new Set(
  (
    "ADDRESS ARTICLE ASIDE BLOCKQUOTE DD DIV DL DT FIGCAPTION FIGURE FOOTER FORM H1 H2 H3 H4 H5 H6 HEADER HR LI MAIN NAV OL P " +
    "PRE SECTION TABLE TR UL"
  ).split(" "),
);

/** A part of a page as text: one line for each paragraph. */
function plainTextOf(root: PageNode): string {
  const lines: string[] = [];
  let line = "";
  const end = (): void => {
    const text = line.replaceAll(/\s+/g, " ").trim();
    if (text !== "") lines.push(text);
    line = "";
  };
  const visit = (node: PageNode): void => {
    if (node.nodeType === TEXT_NODE) line += node.textContent;
    if (node.nodeType !== ELEMENT_NODE) return;
    const isBlock = BLOCKS.has(node.nodeName.toUpperCase()) || node.nodeName.toUpperCase() === "BR";
    if (isBlock) end();
    for (const child of node.childNodes) visit(child);
    if (isBlock) end();
    else if (/^T[DH]$/i.test(node.nodeName)) line += " ";
  };
  visit(root);
  end();
  return lines.join("\n");
}
