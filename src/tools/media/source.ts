import { basename, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { FileBackend } from "../../types/run/backend.ts";
import { FetchRefused, type Resolve } from "../../utils/net/safe-fetch.ts";
import { requestWeb, type WebAnswer } from "../../utils/net/web-request.ts";
import { isInside } from "../../utils/real-path.ts";
import { readBytes } from "../../utils/read-regular.ts";
import { withFile } from "../files/stored.ts";
import type { WebFetchSettings } from "../web/config.ts";
import { fetchRefusalText, rulesOf, USER_AGENT } from "../web/fetch-page.ts";

/** Ports for the tools for media. Settings are read for each call. */
export interface SourcePorts {
  readonly web: () => WebFetchSettings;
  /** Absolute path of the received files, which texts name `media://inbound/<id>`. */
  readonly mediaDir: string;
  /** Resolver of host names; the system's when unset. */
  readonly resolve?: Resolve;
}

export interface SourcePlace {
  readonly files: FileBackend;
  readonly workspace: string;
  /** True when the run may fetch web pages. */
  readonly mayFetch: boolean;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/** A file given to a tool. */
export interface Source {
  readonly bytes: Uint8Array;
  /** The file's name for people and models. */
  readonly name: string;
  /** True when somebody outside may have made the file: it comes from the web or with a message. */
  readonly isForeign: boolean;
}

const isWebAddress = (ref: string): boolean => /^https?:/i.test(ref.trim());

/** The hosts that a call would fetch from, as the end of a sentence; undefined for none. */
export const fetchesFrom = (refs: readonly string[]): string | undefined => {
  const hosts = refs.filter(isWebAddress).map((ref) => URL.parse(ref.trim())?.host ?? ref.slice(0, 100));
  return hosts.length === 0 ? undefined : `fetches from ${[...new Set(hosts)].join(", ")}`;
};

/** Reads a path, a `file:` or `media:` address, a data URL, or a web address. Rejects with a text for the model. */
export async function readSource(given: string, place: SourcePlace, ports: SourcePorts): Promise<Source> {
  const ref = /^\s*[a-z]+:/i.test(given) ? given.trim() : given;
  if (/^data:/i.test(ref)) return fromDataUrl(ref, place.maxBytes);
  if (isWebAddress(ref)) return fromWeb(ref, place, ports);
  return fromFile(pathOf(ref, ports), place);
}

const megabytes = (bytes: number): string => String(Number((bytes / 1_048_576).toPrecision(2)));

const tooLarge = (name: string, most: number): Error =>
  new Error(`${name} is larger than ${megabytes(most)} MB, which is the limit of this call. Give a smaller file.`);

function fromDataUrl(ref: string, most: number): Source {
  const [, encoding, data] = /^data:[^,;]{0,200}((?:;[^,;]{0,100}){0,5}),([^]*)$/i.exec(ref) ?? [];
  if (encoding === undefined || data === undefined) throw new Error("The data URL has no content.");
  const name = "the data URL";
  if (data.length > most * 3) throw tooLarge(name, most);
  const bytes = /;base64$/i.test(encoding)
    ? Buffer.from(data, "base64")
    : Buffer.from(decodeURIComponent(data), "latin1");
  if (bytes.byteLength > most) throw tooLarge(name, most);
  return { bytes, name, isForeign: false };
}

function pathOf(ref: string, { mediaDir }: SourcePorts): string {
  if (/^file:/i.test(ref)) return fileURLToPath(ref);
  const id = /^media:\/\/(?:inbound\/)?([^/\\]+)$/i.exec(ref)?.[1];
  if (id !== undefined) return `${mediaDir}/${id}`;
  const scheme = /^([a-z][a-z+.-]{1,20}):\/\//i.exec(ref)?.[1];
  if (scheme !== undefined) throw new Error(`Addresses that begin with ${scheme}: are not read.`);
  return ref;
}

async function fromFile(path: string, { files, workspace, maxBytes }: SourcePlace): Promise<Source> {
  const located = await files.locate(path, workspace, "read");
  const name = basename(located);
  const bytes = await withFile({ path, workspace }, files, async (file) => {
    const { size } = await file.stat();
    if (size > maxBytes) throw tooLarge(name, maxBytes);
    return readBytes(file, size);
  });
  if (bytes.byteLength === 0) throw new Error(`${name} is empty.`);
  // A sandbox has copies of received files in its workspace.
  const isForeign = !isInside(located, workspace) || /^media[/\\]inbound[/\\]/.test(relative(workspace, located));
  return { bytes, name, isForeign };
}

async function fromWeb(ref: string, place: SourcePlace, ports: SourcePorts): Promise<Source> {
  const settings = ports.web();
  if (!place.mayFetch || !settings.enabled)
    throw new Error("This run may not fetch web addresses: it does not have the tool web_fetch.");
  try {
    const answer = await requestWeb(ref, {
      rules: rulesOf(settings.ssrfPolicy),
      timeoutMs: settings.timeoutSeconds * 1000,
      maxBytes: place.maxBytes,
      maxRedirects: settings.maxRedirects,
      signal: place.signal,
      headers: { accept: "*/*", "user-agent": settings.userAgent ?? USER_AGENT },
      ...(settings.useTrustedEnvProxy && { proxyEnv: process.env }),
      ...(ports.resolve && { resolve: ports.resolve }),
    });
    return sourceOf(answer, place.maxBytes);
  } catch (error) {
    if (error instanceof FetchRefused) throw new Error(fetchRefusalText("The file", error), { cause: error });
    throw error;
  }
}

function sourceOf({ status, url, bytes, isCut }: WebAnswer, most: number): Source {
  if (status >= 400) throw new Error(`The file was not fetched: ${url.host} answered with the status ${status}.`);
  const name = `the file of ${url.host}`;
  if (isCut) throw tooLarge(name, most);
  if (bytes.byteLength === 0) throw new Error(`The file was not fetched: ${url.host} sent an empty answer.`);
  return { bytes, name, isForeign: true };
}
