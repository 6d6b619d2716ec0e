import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { isPublicAddress } from "../../../utils/net/addresses.ts";
import { FetchRefused, type Resolve } from "../../../utils/net/safe-fetch.ts";
import type { requestWeb, WebAnswer } from "../../../utils/net/web-request.ts";
import { SearchFailure, type ProviderRequests, type SearchAccess, type SearchRequest } from "./providers/provider.ts";

/** Most bytes of an answer; providers send some hundred kilobytes at most. */
const MOST_BYTES = 1_000_000;
/** Milliseconds in which the address of a source has to lead to its page. */
const FOLLOW_MS = 5000;
const MOST_FOLLOWED = 10;
/** Longest wait in milliseconds that is believed when a server asks for one. */
const MOST_WAIT_MS = 3_600_000;
const USER_AGENT = "Mozilla/5.0 (compatible; OpenClaw)";

export interface AskPorts {
  /** Sends a request: `requestWeb`, except where a test stands in for the internet. */
  readonly request: typeof requestWeb;
  /** Resolver of host names; the system's when unset. */
  readonly resolve?: Resolve | undefined;
}

/** The requests of one search of one provider. */
export function askOf(
  access: SearchAccess,
  { request, resolve }: AskPorts,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
): ProviderRequests {
  const shared = { signal, ...(resolve && { resolve }) };
  const send = async (wanted: SearchRequest): Promise<WebAnswer> => {
    const url = addressOf(access, wanted);
    await refusePlainHttp(url, resolve);
    const isOwn = isBelow(access, url) && (access.isOwnAddress || isLoopback(url));
    const answer = await request(url.href, {
      ...shared,
      timeoutMs,
      maxBytes: MOST_BYTES,
      // A private host is asked because the operator named it; it must not lead to other hosts, or to other ports of
      // its own.
      rules: isOwn ? { privateHosts: [url.hostname] } : {},
      maxRedirects: isOwn ? 0 : 2,
      headers: { accept: "application/json", "user-agent": USER_AGENT, ...headersOf(wanted) },
      ...(wanted.body !== undefined && { method: "POST", body: JSON.stringify(wanted.body) }),
    });
    return checked(answer);
  };
  return {
    json: async (wanted) => parsed(await asked(send(wanted), signal)),
    text: async (wanted) => decoded(await asked(send(wanted), signal)),
    follow: async (addresses) =>
      Promise.all(
        addresses.slice(0, MOST_FOLLOWED).map(async (address) => {
          try {
            const options = { ...shared, rules: {}, timeoutMs: FOLLOW_MS, maxBytes: 0, maxRedirects: 3 };
            return (await request(address, { ...options, method: "HEAD" })).url.href;
          } catch (error) {
            if (signal.aborted) throw error;
            // The answer is worth as much with the address that the provider gave.
            return address;
          }
        }),
      ),
  };
}

function addressOf(access: SearchAccess, { path, query = {} }: SearchRequest): URL {
  const url = URL.parse(/^https?:\/\//.test(path) ? path : `${access.baseUrl}${path}`);
  if (!url) throw new SearchFailure("network", "has no valid address");
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
  return url;
}

const headersOf = ({ headers = {}, body }: SearchRequest) => ({
  ...(body !== undefined && { "content-type": "application/json" }),
  ...headers,
});

const isLoopback = ({ hostname }: URL): boolean => hostname === "127.0.0.1" || hostname === "[::1]";

const isBelow = ({ baseUrl }: SearchAccess, url: URL): boolean => URL.parse(baseUrl)?.origin === url.origin;

/**
 * Throws for a public address without encryption: words and keys are sent without encryption to hosts of the private
 * network only.
 */
async function refusePlainHttp(url: URL, resolve: Resolve | undefined): Promise<void> {
  if (url.protocol !== "http:") return;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const addresses = isIP(host) === 0 ? await addressesOf(host, resolve) : [{ address: host }];
  if (addresses.some(({ address }) => isPublicAddress(address)))
    throw new SearchFailure("refused", "has a public address without encryption; its baseUrl has to begin with https");
}

async function addressesOf(host: string, resolve: Resolve = (name) => lookup(name, { all: true })) {
  try {
    return await resolve(host);
  } catch {
    // A name that cannot be resolved cannot be asked; the error says no more than that.
    throw new SearchFailure("network", "was not found");
  }
}

/** The outcome of a request, with its failure in the terms of a search. */
async function asked(answer: Promise<WebAnswer>, signal: AbortSignal): Promise<WebAnswer> {
  try {
    return await answer;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (!(error instanceof FetchRefused)) throw error;
    const isRefused = error.because === "address" || error.because === "host" || error.because === "redirects";
    throw new SearchFailure(isRefused ? "refused" : "network", `was not reached: ${error.message}`);
  }
}

/**
 * An answer with a good status. Throws `SearchFailure` for any other, without any of the body: a server may repeat the
 * key, or write instructions for a model.
 */
function checked(answer: WebAnswer): WebAnswer {
  const { status, headers, isCut } = answer;
  if (status === 401 || status === 403)
    throw new SearchFailure("key", `did not accept the key (status ${status})`, { status });
  if (status === 402) throw new SearchFailure("key", "asks for payment (status 402)", { status });
  if (status === 429) {
    const retryAfterMs = waitOf(headers.get("retry-after"));
    throw new SearchFailure("rate", "has had too many requests (status 429)", {
      status,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    });
  }
  if (status < 200 || status > 299) throw new SearchFailure("server", `answered with status ${status}`, { status });
  if (isCut) throw new SearchFailure("answer", `sent more than ${MOST_BYTES} bytes`);
  return answer;
}

/** Milliseconds of a header `Retry-After`, which has seconds or a date. */
function waitOf(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d{1,9}$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MOST_WAIT_MS);
}

const decoded = ({ bytes }: WebAnswer): string => new TextDecoder().decode(bytes);

function parsed(answer: WebAnswer): unknown {
  try {
    return JSON.parse(decoded(answer));
  } catch {
    // The text of the error would quote a part of the answer, which is unchecked.
    throw new SearchFailure("answer", "sent no valid JSON");
  }
}
