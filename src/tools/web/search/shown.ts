import type { FoundPage, SearchAnswer } from "../../../types/plugin/web-search.ts";
import { visibleText } from "../../../utils/text/clean-text.ts";
import { wrappingSize, wrapUntrusted } from "../../../utils/text/untrusted.ts";
import type { Searched } from "./chain.ts";

const SOURCE = { label: "Web Search" };
/** UTF-16 units. */
const MOST_TITLE = 200;
const MOST_SNIPPET = 1500;
const LEAST_SNIPPET = 100;
const MOST_URL = 1000;
/** What a result has beside its texts: names of fields, quotes, its host and date. */
const FRAME = 200;

/** A search as the model sees it, in the field's form. Every text of strangers is between markers. */
export function shownSearch(
  { answer, provider, failed, ignored }: Searched,
  { query, count, mostChars }: { readonly query: string; readonly count: number; readonly mostChars: number },
): Record<string, unknown> {
  const about = {
    query,
    provider,
    externalContent: { untrusted: true, source: "web_search", provider, wrapped: true },
    ...(failed.length > 0 && { failed }),
    ...(ignored.length > 0 && { ignored }),
  };
  const room = mostChars - JSON.stringify(about).length - FRAME;
  if ("content" in answer) return { ...about, ...shownContent(answer, room) };
  const results = shownPages(answer.results.slice(0, count), room);
  return { ...about, count: results.length, results };
}

function shownContent({ content, citations }: Exclude<SearchAnswer, { results: unknown }>, room: number) {
  const cited = [...new Set(citations.flatMap((address) => webAddress(address) ?? []))].slice(0, 20);
  const left = Math.max(LEAST_SNIPPET, room - JSON.stringify(cited).length - wrappingSize(SOURCE));
  return { content: wrapped(visibleText(content), left), citations: cited };
}

/** As many pages as there is room for; a page without an address of the web is left out. */
function shownPages(pages: readonly FoundPage[], room: number): readonly Record<string, unknown>[] {
  const each = Math.floor(room / Math.max(1, pages.length));
  const shown: Record<string, unknown>[] = [];
  let left = room;
  for (const page of pages) {
    const one = shownPage(page, each);
    const size = one ? JSON.stringify(one).length + 1 : 0;
    if (!one || size > left) continue;
    shown.push(one);
    left -= size;
  }
  return shown;
}

function shownPage({ title, url, snippet, published }: FoundPage, room: number): Record<string, unknown> | undefined {
  const address = webAddress(url);
  if (address === undefined) return undefined;
  const name = wrapped(plain(title), MOST_TITLE);
  const left = room - FRAME - name.length - address.length - wrappingSize(SOURCE);
  const date = dateOf(published);
  return {
    title: name,
    url: address,
    snippet: wrapped(plain(snippet), Math.min(MOST_SNIPPET, Math.max(LEAST_SNIPPET, left))),
    ...(date !== undefined && { published: date }),
    siteName: new URL(address).hostname,
  };
}

/** Text that as JSON takes no more than so many units, between the markers. */
function wrapped(text: string, most: number): string {
  const kept = text.slice(0, most);
  const excess = JSON.stringify(kept).length - 2 - kept.length;
  return wrapUntrusted(kept.slice(0, Math.max(0, most - excess)).toWellFormed(), SOURCE);
}

/** An address in the form of the standard, which has no sign of a marker in it; undefined for other schemes, and for long ones. */
function webAddress(text: string): string | undefined {
  const url = URL.parse(text.trim());
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) return undefined;
  url.username = "";
  url.password = "";
  const below = `${url.pathname}${url.search}${url.hash}`;
  const href = `${url.origin}${below.replaceAll(/[<>|[\]]/g, encodeURIComponent)}`;
  return href.length > MOST_URL ? undefined : href;
}

const TAGS = /<\/?(?:strong|b|em|i|mark|br|span)(?:\s[^<>]{0,100})?\/?>/gi;
const ENTITY = /&(?:(amp|lt|gt|quot|apos|nbsp)|#(\d{1,7})|#x([\da-f]{1,6}));/gi;
const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** A title or description without markup and without invisible signs, in one line. */
function plain(text: string): string {
  const bare = text.slice(0, 20_000).replaceAll(TAGS, "").replaceAll(ENTITY, decoded);
  return visibleText(bare).replaceAll(/\s+/g, " ").trim();
}

function decoded(whole: string, name?: string, decimal?: string, hex?: string): string {
  if (name !== undefined) return NAMED[name.toLowerCase()] ?? whole;
  const point = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
  return point > 0 && point <= 0x10_ff_ff ? String.fromCodePoint(point).toWellFormed() : "";
}

/** A date, or a time such as `3 days ago`; undefined for any other text. */
function dateOf(text = ""): string | undefined {
  const said = text.trim();
  if (/^\d{1,4} (?:second|minute|hour|day|week|month|year)s? ago$/.test(said)) return said;
  // JavaScript finds a date in any text that ends with a number.
  if (!/^[\w\s:+,./-]{4,40}$/.test(said) || !/\b(?:19|20)\d\d\b/.test(said)) return undefined;
  const time = Date.parse(said);
  return Number.isNaN(time) ? undefined : new Date(time).toISOString().slice(0, 10);
}
