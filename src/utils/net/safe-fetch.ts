import { isIP } from "node:net";
import type { LookupAddress } from "node:dns";
import type { Dispatcher } from "undici";
import { isPublicAddress } from "./addresses.ts";
import type { FakeRange } from "./host-rules.ts";
import { loadUndici } from "./undici.ts";

export type RefusedBecause = "address" | "scheme" | "host" | "redirects" | "too-large" | "status" | "network";

/** Why a file was not fetched. The message names no more of the address than its origin, as paths may hold keys. */
export class FetchRefused extends Error {
  override readonly name = "FetchRefused";
  readonly because: RefusedBecause;
  /** Status of the answer, when the server refused. */
  readonly status: number | undefined;
  /** The header of that answer. */
  readonly retryAfter: string | undefined;
  /** The range of the address, when proxies on this machine use that range for names that they resolve themselves. */
  readonly fakeRange: FakeRange | undefined;

  constructor(because: RefusedBecause, message: string, more: RefusedMore = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.because = because;
    this.status = more.status;
    this.retryAfter = more.retryAfter;
    this.fakeRange = more.fakeRange;
  }
}

interface RefusedMore {
  readonly cause?: unknown;
  readonly status?: number;
  readonly retryAfter?: string;
  readonly fakeRange?: FakeRange;
}

export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

export interface SafeFetchOptions {
  readonly maxBytes: number;
  /** 5 unless given. */
  readonly maxRedirects?: number;
  /** Milliseconds for the whole; 60,000 unless given. */
  readonly timeoutMs?: number;
  /** Sent to the first origin and to trusted ones, never elsewhere after a redirect. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The only hosts that may be contacted, each with its subdomains; any when unset. */
  readonly allowHosts?: readonly string[];
  /** Origins that may have private addresses, because the operator wrote them into the config. */
  readonly trusted?: readonly string[];
  /** Private addresses are fine everywhere. */
  readonly allowPrivate?: boolean;
  readonly signal?: AbortSignal;
  /** The system's resolver unless given. */
  readonly resolve?: Resolve;
}

export interface SafeFile {
  readonly bytes: Uint8Array;
  /** MIME type by the content, else as the server says. */
  readonly mime?: string;
  readonly name?: string;
}

const MOST_REDIRECTS = 5;
const TIMEOUT_MS = 60_000;

/**
 * Fetches a file from an address that a stranger gave, without letting it reach into the private network: the name is
 * resolved once, every address is checked, and the connection goes to a checked address; each redirect is checked
 * again. Throws `FetchRefused`.
 */
export async function safeFetch(address: string | URL, options: SafeFetchOptions): Promise<SafeFile> {
  const signals = [AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS), ...(options.signal ? [options.signal] : [])];
  const signal = AbortSignal.any(signals);
  let url = parse(String(address), undefined);
  const first = url.origin;
  for (let hops = 0; hops <= (options.maxRedirects ?? MOST_REDIRECTS); hops += 1) {
    const knows = url.origin === first || isTrusted(url, options);
    const answer = await step(url, { ...options, headers: (knows && options.headers) || {}, signal });
    if (!(answer instanceof URL)) return answer;
    url = answer;
  }
  throw new FetchRefused("redirects", `${url.origin} is one redirect too many`);
}

function parse(address: string, base: URL | undefined): URL {
  const url = URL.parse(address, base?.href);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new FetchRefused("scheme", "the address is no web address");
  }
  url.username = "";
  url.password = "";
  return url;
}

const isTrusted = (url: URL, { trusted = [] }: SafeFetchOptions): boolean =>
  trusted.some((origin) => URL.parse(origin)?.origin === url.origin);

type Hop = SafeFetchOptions & { readonly signal: AbortSignal };

/** Makes one request: gives the file, or the URL to ask next. */
async function step(url: URL, hop: Hop): Promise<SafeFile | URL> {
  const addresses = await addressesOf(url, hop);
  const { Agent, request } = await loadUndici();
  const agent = new Agent({ connect: { lookup: pinned(addresses) }, pipelining: 0 });
  try {
    const answer = await request(url, {
      dispatcher: agent,
      signal: hop.signal,
      headers: { "accept-encoding": "identity", ...hop.headers },
    });
    return await read(answer, url, hop);
  } catch (error) {
    if (error instanceof FetchRefused) throw error;
    throw new FetchRefused("network", `${url.origin} gave no whole answer (${reasonOf(error)})`, { cause: error });
  } finally {
    await agent.destroy();
  }
}

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return "unknown";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
};

async function addressesOf(url: URL, hop: Hop): Promise<readonly LookupAddress[]> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (hop.allowHosts && !hop.allowHosts.some((name) => host === name || host.endsWith(`.${name}`))) {
    throw new FetchRefused("host", `${url.origin} is not among the hosts that may be asked`);
  }
  const family = isIP(host);
  const found = family === 0 ? await resolveName(host, hop.resolve ?? systemResolve) : [{ address: host, family }];
  const open = hop.allowPrivate === true || isTrusted(url, hop);
  // A rebinding attack mixes one private address with public ones.
  if (found.length === 0 || (!open && !found.every(({ address }) => isPublicAddress(address)))) {
    throw new FetchRefused("address", `${url.origin} is not on the public internet`);
  }
  return found;
}

async function resolveName(host: string, resolve: Resolve): Promise<readonly LookupAddress[]> {
  try {
    return await resolve(host);
  } catch (error) {
    throw new FetchRefused("network", `${host} was not found`, { cause: error });
  }
}

const systemResolve: Resolve = async (host) => {
  const { lookup } = await import("node:dns/promises");
  return lookup(host, { all: true });
};

type Found = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/** Gives the connection the addresses that were checked, whatever a second question would bring. */
const pinned =
  (addresses: readonly LookupAddress[]) =>
  (_host: string, options: { all?: boolean | undefined }, found: Found): void => {
    const [first] = addresses;
    if (options.all === true || !first) return found(null, [...addresses]);
    found(null, first.address, first.family);
  };

async function read(answer: Dispatcher.ResponseData, url: URL, hop: Hop): Promise<SafeFile | URL> {
  const { statusCode: status, headers, body } = answer;
  const location = headers["location"];
  if (status >= 300 && status < 400 && typeof location === "string") {
    await body.dump({ limit: 0 });
    return parse(location, url);
  }
  if (status !== 200) {
    const retryAfter = headers["retry-after"];
    const more = { status, ...(typeof retryAfter === "string" && { retryAfter }) };
    throw new FetchRefused("status", `${url.origin} answered ${status}`, more);
  }
  const bytes = await readLimited(body, Number(headers["content-length"] ?? 0), hop.maxBytes);
  const mime = await mimeOf(bytes, headers["content-type"]);
  const name = nameOf(headers["content-disposition"], url);
  return { bytes, ...(mime !== undefined && { mime }), ...(name !== undefined && { name }) };
}

async function readLimited(body: AsyncIterable<Uint8Array>, announced: number, most: number): Promise<Uint8Array> {
  const tooLarge = new FetchRefused("too-large", `the file has more than ${most} bytes`);
  if (announced > most) throw tooLarge;
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of body) {
    length += part.byteLength;
    if (length > most) throw tooLarge;
    parts.push(part);
  }
  return new Uint8Array(Buffer.concat(parts));
}

async function mimeOf(bytes: Uint8Array, said: string | string[] | undefined): Promise<string | undefined> {
  const { fileTypeFromBuffer } = await import("file-type");
  const found = await fileTypeFromBuffer(bytes);
  if (found) return found.mime;
  return typeof said === "string" ? said.split(";", 1)[0]?.trim().toLowerCase() : undefined;
}

/** The file's own name: the server's word, else the end of the address; never a path. */
function nameOf(disposition: string | string[] | undefined, url: URL): string | undefined {
  const said = typeof disposition === "string" ? /filename="?([^";]+)"?/i.exec(disposition)?.[1] : undefined;
  const last = said ?? url.pathname;
  const name = last.split(/[/\\]/).at(-1)?.trim() ?? "";
  return name === "" ? undefined : name;
}
