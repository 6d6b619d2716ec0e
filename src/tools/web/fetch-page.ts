import { FetchRefused, type Resolve } from "../../utils/net/safe-fetch.ts";
import type { FakeRange, HostRules } from "../../utils/net/host-rules.ts";
import { requestWeb, type WebAnswer } from "../../utils/net/web-request.ts";
import type { WebFetchSettings } from "./config.ts";
import type { PageKind, PageText } from "./page/page-job.ts";
import { readInThread } from "./page/page-thread.ts";

/** Most characters of an answer with an error status. */
const MOST_OF_ERROR = 4000;
export const USER_AGENT = "Mozilla/5.0 (compatible; OpenClaw)";

export interface PageWish {
  readonly url: string;
  readonly mode: "markdown" | "text";
  /** Most UTF-16 units of text. */
  readonly most: number;
}

/** A fetched page. */
export interface FetchedPage extends PageText {
  readonly finalUrl: string;
  readonly status: number;
  readonly contentType: string;
  /** Epoch milliseconds. */
  readonly fetchedAt: number;
  /** True when the answer had more bytes than are read. */
  readonly isShort: boolean;
  readonly retryAfter?: string;
}

/** Reason why there is no page, as a sentence for the model. */
export interface NoPage {
  readonly why: string;
}

/** Fetches a page and reads its text. Rejects only with the signal's reason. */
export async function fetchPage(
  wish: PageWish,
  settings: WebFetchSettings,
  { signal, resolve }: { readonly signal: AbortSignal; readonly resolve?: Resolve | undefined },
): Promise<FetchedPage | NoPage> {
  try {
    const answer = await requestWeb(wish.url, {
      rules: rulesOf(settings.ssrfPolicy),
      timeoutMs: settings.timeoutSeconds * 1000,
      maxBytes: settings.maxResponseBytes,
      maxRedirects: settings.maxRedirects,
      signal,
      headers: {
        accept: "text/markdown, text/html;q=0.9, application/json;q=0.8, text/plain;q=0.8, */*;q=0.1",
        "accept-language": "en, *;q=0.5",
        "user-agent": settings.userAgent ?? USER_AGENT,
      },
      wants: (_status, headers) => kindOf(headers.get("content-type") ?? "") !== undefined,
      ...(settings.useTrustedEnvProxy && { proxyEnv: process.env }),
      ...(resolve && { resolve }),
    });
    return await pageOf(answer, wish, settings);
  } catch (error) {
    if (error instanceof FetchRefused) return { why: fetchRefusalText("The page", error) };
    throw error;
  }
}

/** The rules for hosts and addresses, from the config. */
export function rulesOf(policy: WebFetchSettings["ssrfPolicy"]): HostRules {
  const fakeRanges: FakeRange[] = [
    ...(policy.allowRfc2544BenchmarkRange ? (["benchmark"] as const) : []),
    ...(policy.allowIpv6UniqueLocalRange ? (["unique-local"] as const) : []),
  ];
  return {
    privateHosts: policy.allowedHostnames,
    allowPrivate: policy.dangerouslyAllowPrivateNetwork,
    onlyHosts: policy.hostnameAllowlist,
    blockedHosts: policy.blockedHostnames,
    fakeRanges,
  };
}

const FAKE_KEYS: Readonly<Record<FakeRange, string>> = {
  benchmark: "allowRfc2544BenchmarkRange",
  "unique-local": "allowIpv6UniqueLocalRange",
};

/** Reason why a file or page was not fetched, with the key that decides. `what` begins the sentence. */
export function fetchRefusalText(what: string, { message, because, fakeRange }: FetchRefused): string {
  if (fakeRange !== undefined)
    return `${what} was not fetched: ${message}. A proxy on this machine may have made up its address; the operator can allow that with tools.web.fetch.ssrfPolicy.${FAKE_KEYS[fakeRange]}.`;
  const key = because === "address" || because === "host" ? " (tools.web.fetch.ssrfPolicy)" : "";
  return `${what} was not fetched: ${message}${key}.`;
}

async function pageOf(answer: WebAnswer, wish: PageWish, settings: WebFetchSettings): Promise<FetchedPage | NoPage> {
  const { status, headers, url, bytes, isCut } = answer;
  const contentType = headers.get("content-type") ?? "";
  const kind = kindOf(contentType);
  if (kind === undefined) return { why: noTextWhy(contentType, status) };
  const charset = /charset\s*=\s*"?([\w-]{1,40})/i.exec(contentType)?.[1];
  const read = await readInThread({
    kind,
    bytes,
    ...(charset !== undefined && { charset }),
    url: url.href,
    mode: wish.mode,
    readability: settings.readability,
    most: status >= 400 ? Math.min(wish.most, MOST_OF_ERROR) : wish.most,
  });
  if ("failed" in read) return { why: `The page could not be read: ${read.failed}.` };
  if ("noText" in read)
    return {
      why: `The page has no text${contentType === "" ? "" : `, although its type is ${contentType.slice(0, 100)}`}.`,
    };
  return { ...read, finalUrl: url.href, status, contentType, fetchedAt: Date.now(), isShort: isCut, ...waitIn(answer) };
}

/** Tools for types that this tool does not read. */
const OTHER_TOOLS: readonly (readonly [RegExp, string])[] = [
  [/^application\/pdf\b/i, "The tool pdf reads such files."],
  [/^image\//i, "The tool image looks at such files."],
];

function noTextWhy(contentType: string, status: number): string {
  const other = OTHER_TOOLS.find(([types]) => types.test(contentType))?.[1];
  const why = `The page has no text: its type is ${contentType.slice(0, 100)} (status ${status}).`;
  return other === undefined ? why : `${why} ${other}`;
}

/** Time at which the server wants to be asked again, in its own short text. */
function waitIn({ status, headers }: WebAnswer): Pick<FetchedPage, "retryAfter"> {
  const after = headers.get("retry-after") ?? "";
  return (status === 429 || status === 503) && /^[\w ,:+-]{1,40}$/.test(after) ? { retryAfter: after } : {};
}

const KINDS: ReadonlyMap<string, PageKind> = new Map([
  ["text/html", "html"],
  ["application/xhtml+xml", "html"],
  ["text/markdown", "markdown"],
  ["text/x-markdown", "markdown"],
  ["application/json", "json"],
  ["application/xml", "text"],
  ["application/javascript", "text"],
  // An unnamed content that is no text is found when it is read.
  ["", "unnamed"],
]);

/** The kind of an answer with this type; undefined when the type is no text. */
function kindOf(contentType: string): PageKind | undefined {
  const type = (contentType.split(";")[0] ?? "").trim().toLowerCase();
  const known = KINDS.get(type);
  if (known) return known;
  if (type.endsWith("+json")) return "json";
  return type.startsWith("text/") || type.endsWith("+xml") ? "text" : undefined;
}
