import { z } from "zod";
import { defined } from "../../utils/defined.ts";
import type { Env } from "../../utils/env.ts";
import type { HostRules } from "../../utils/net/host-rules.ts";
import { requestWeb, type WebAnswer } from "../../utils/net/web-request.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { OpenClawError } from "../../types/errors.ts";
import { invalid, notFetched, unsafe } from "../install/refusals.ts";
import { isGuarded, skillRefText, type SkillRef } from "./source.ts";

const DEFAULT_ADDRESS = "https://clawhub.ai";
const MB = 1_048_576;
const MOST_JSON = 4 * MB;
/** Bytes of an archive as it is sent. */
const MOST_ARCHIVE = 32 * MB;
const JSON_MS = 30_000;
const ARCHIVE_MS = 120_000;

/** A registry of skills that speaks ClawHub's protocol. */
export interface Registry {
  readonly address: URL;
  /** Sent to this address alone. */
  readonly token?: string;
  readonly env: Env;
}

/** The registry that the environment names; ClawHub unless it names one. Throws `USAGE`. */
export function registryOf(env: Env): Registry {
  const given = env["OPENCLAW_CLAWHUB_URL"]?.trim() || env["CLAWHUB_URL"]?.trim() || DEFAULT_ADDRESS;
  const address = URL.parse(given.endsWith("/") ? given : `${given}/`);
  if (!address || !isGuarded(address))
    throw new OpenClawError("USAGE", {
      message: `${given} is no address of a registry.`,
      fix: "Set OPENCLAW_CLAWHUB_URL to an https address.",
    });
  const token = env["CLAWHUB_TOKEN"]?.trim() || env["CLAWHUB_AUTH_TOKEN"]?.trim();
  return { address, env, ...(token && { token }) };
}

/** A skill that a search found. */
export interface FoundSkill {
  /** The form in which it can be installed. */
  readonly ref: string;
  readonly name: string;
  /** Its name in the registry, and the handle of its publisher. */
  readonly slug: string;
  readonly owner?: string;
  readonly about?: string;
  readonly updatedAt?: string;
}

const text = z.string().nullish().catch(undefined);

const searchRow = z.looseObject({
  slug: z.string(),
  displayName: text,
  summary: text,
  ownerHandle: text,
  source: text,
  publisher: z.looseObject({ handle: text }).nullish().catch(undefined),
  updatedAt: z.number().nullish().catch(undefined),
});
const searchAnswer = z.looseObject({
  results: z.array(z.unknown()).optional(),
  items: z.array(z.unknown()).optional(),
});

/** Searches the registry; without words, what is used most now. Throws `PLUGIN_FETCH`. */
export async function searchSkills(registry: Registry, words: string, limit: number): Promise<readonly FoundSkill[]> {
  const query = words.trim();
  const path = query === "" ? "api/v1/trending" : "api/v1/search";
  const asked = query === "" ? { kind: "skills" } : { q: query };
  const answer = await askJson(registry, { path, search: { ...asked, limit: String(limit) } }, searchAnswer);
  const rows = (answer.results ?? answer.items ?? []).flatMap((row) => {
    const { success, data } = searchRow.safeParse(row);
    // A skill of another site can only be installed from there.
    return success && (data.source ?? "clawhub") === "clawhub" ? [data] : [];
  });
  return rows.slice(0, limit).map((row) => {
    const owner = row.ownerHandle ?? row.publisher?.handle ?? undefined;
    return {
      ref: skillRefText({ slug: row.slug, ...defined({ owner }) }),
      name: row.displayName ?? row.slug,
      slug: row.slug,
      ...defined({ owner }),
      ...defined({ about: row.summary ?? undefined }),
      ...(typeof row.updatedAt === "number" && { updatedAt: new Date(row.updatedAt).toISOString() }),
    };
  });
}

/** A version of a skill that the registry offers. */
export interface OfferedSkill {
  readonly version: string;
  readonly from:
    | { readonly kind: "archive"; readonly address: string }
    /** A folder of a repository at one commit. */
    | { readonly kind: "git"; readonly url: string; readonly commit: string; readonly folder: string };
  /** What the registry's own scan says of it. */
  readonly scan: string;
}

const resolution = z.looseObject({
  ok: z.boolean(),
  reason: text,
  message: text,
  installKind: text,
  archive: z.looseObject({ version: z.string(), downloadUrl: z.string() }).nullish(),
  github: z.looseObject({ repo: z.string(), path: z.string(), commit: z.string() }).nullish(),
});

/**
 * The version to install: the one that is asked for, else the newest. Throws `PLUGIN_FETCH`, `PLUGIN_INVALID` for what the
 * registry does not have or does not give out, and `PLUGIN_UNSAFE` for what its scan has found to be malicious.
 */
export async function resolveSkill(registry: Registry, ref: SkillRef, version?: string): Promise<OfferedSkill> {
  const { slug, owner } = ref;
  if (version !== undefined) {
    const search = { slug, version, ...(owner !== undefined && { ownerHandle: owner }) };
    const address = urlIn(registry, { path: "api/v1/download", search }).href;
    return { version, from: { kind: "archive", address }, scan: await requireScan(registry, ref, version) };
  }
  const found = await askJson(
    registry,
    {
      path: `api/v1/skills/${encodeURIComponent(slug)}/install`,
      search: ownerOf(ref),
      isRefusal: [403, 409, 410, 423],
    },
    resolution,
  );
  if (!found.ok) throw notOffered(ref, found.message ?? found.reason ?? "it gives no reason");
  if (found.archive) {
    const address = URL.parse(found.archive.downloadUrl, registry.address.href);
    if (!address || !isGuarded(address)) throw unsafe(`The registry names no safe address for ${skillRefText(ref)}.`);
    const scan = await requireScan(registry, ref, found.archive.version);
    return { version: found.archive.version, from: { kind: "archive", address: address.href }, scan };
  }
  if (found.github) return { ...onGitHub(ref, found.github), scan: "not scanned: it comes from GitHub" };
  throw notOffered(ref, `it offers it as ${found.installKind ?? "nothing"}, which this version cannot install`);
}

const notOffered = (ref: SkillRef, why: string) =>
  invalid(
    `The registry does not give out ${skillRefText(ref)}: ${why.replace(/\.$/, "")}.`,
    "openclaw skills search shows what it has.",
  );

function onGitHub(ref: SkillRef, { repo, path, commit }: { repo: string; path: string; commit: string }) {
  const parts = path.split("/").filter((part) => part !== "");
  const isSound =
    /^[\w.-]+\/[\w.-]+$/.test(repo) && /^[0-9a-f]{40}$/i.test(commit) && !parts.some((part) => /^\.\.?$/.test(part));
  if (!isSound) throw unsafe(`The registry names no fixed commit of a repository for ${skillRefText(ref)}.`);
  const from = { kind: "git" as const, url: `https://github.com/${repo}.git`, commit, folder: parts.join("/") };
  return { version: commit, from };
}

const ownerOf = ({ owner }: SkillRef): Readonly<Record<string, string>> =>
  owner === undefined ? {} : { ownerHandle: owner };

const verdicts = z.looseObject({
  items: z.array(
    z.looseObject({
      ok: z.boolean(),
      decision: text,
      reasons: z.array(z.string()).catch([]),
      requestedSlug: text,
      requestedVersion: text,
      publisherHandle: text,
      security: z
        .looseObject({ status: text, rawStatus: text, passed: z.boolean().nullish() })
        .nullish()
        .catch(undefined),
    }),
  ),
});

/** The verdict of the registry's scan as half a sentence. Throws `PLUGIN_UNSAFE` for a skill that is blocked or another one. */
async function requireScan(registry: Registry, ref: SkillRef, version: string): Promise<string> {
  const target = { slug: ref.slug, version, ...ownerOf(ref) };
  const answer = await askJson(
    registry,
    { path: "api/v1/skills/-/security-verdicts", post: { items: [target] }, isMissing: true },
    verdicts,
  );
  const [item] = answer?.items ?? [];
  if (!item) return "not scanned: the registry says nothing about it";
  if (!isAbout(item, ref, version))
    throw unsafe(`The registry has answered about another skill than ${skillRefText(ref)} ${version}.`);
  const { status, reasons, isBlocked } = scanOf(item);
  if (isBlocked)
    throw unsafe(
      `The registry's scan says that ${skillRefText(ref)} ${version} is malicious or blocked${reasons}.`,
      "Do not install it.",
    );
  if (item.ok && item.decision === "pass" && item.security?.passed !== false) return `clean (${status || "passed"})`;
  return `not clean (${status || item.decision || "no verdict"}${reasons})`;
}

type Verdict = z.output<typeof verdicts>["items"][number];

function isAbout(
  { requestedSlug, requestedVersion, publisherHandle }: Verdict,
  ref: SkillRef,
  version: string,
): boolean {
  const isSame = requestedSlug?.toLowerCase() === ref.slug.toLowerCase() && requestedVersion === version;
  const publisher = publisherHandle?.replace(/^@/, "").toLowerCase() ?? ref.owner;
  return isSame && (ref.owner === undefined || publisher === ref.owner);
}

function scanOf({ decision, reasons, security }: Verdict) {
  const status = (security?.status ?? security?.rawStatus ?? "").toLowerCase();
  const isNamed = reasons.some((one) => /malicious|malware|blocked$/i.test(one));
  return {
    status,
    reasons: reasons.length === 0 ? "" : `: ${reasons.join(", ")}`,
    isBlocked: decision === "blocked" || status === "malicious" || isNamed,
  };
}

interface Asked {
  readonly path: string;
  readonly search?: Readonly<Record<string, string>>;
  readonly post?: object;
  /** Statuses whose answer says why something is refused. */
  readonly isRefusal?: readonly number[];
}

function urlIn({ address }: Registry, { path, search = {} }: Pick<Asked, "path" | "search">): URL {
  const url = new URL(path, address);
  for (const [name, value] of Object.entries(search)) url.searchParams.set(name, value);
  return url;
}

/** Asks for JSON. With `isMissing`, a registry that does not know the path gives undefined. Throws `PLUGIN_FETCH`, `PLUGIN_INVALID`. */
async function askJson<T>(registry: Registry, asked: Asked, shape: z.ZodType<T>): Promise<T>;
async function askJson<T>(
  registry: Registry,
  asked: Asked & { readonly isMissing: true },
  shape: z.ZodType<T>,
): Promise<T | undefined>;
async function askJson<T>(
  registry: Registry,
  asked: Asked & { readonly isMissing?: true },
  shape: z.ZodType<T>,
): Promise<T | undefined> {
  const url = urlIn(registry, asked);
  const body = asked.post === undefined ? undefined : JSON.stringify(asked.post);
  const answer = await send(registry, { url, maxBytes: MOST_JSON, timeoutMs: JSON_MS, ...defined({ body }) });
  if (answer.status === 404 && asked.isMissing === true) return undefined;
  if (answer.status === 404)
    throw invalid(`${url.host} does not have it.`, "openclaw skills search <words> shows the names in the registry.");
  if (!isOk(answer) && asked.isRefusal?.includes(answer.status) !== true) throw failed(url, `status ${answer.status}`);
  const parsed = shape.safeParse(jsonIn(answer.bytes));
  if (parsed.success) return parsed.data;
  throw failed(url, "an answer in an unknown form");
}

function jsonIn(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    // The shape refuses it.
    return undefined;
  }
}

/** Fetches an archive. Throws `PLUGIN_FETCH`, and `PLUGIN_UNSAFE` for one that is large, or that others could change. */
export async function fetchArchiveBytes(registry: Registry, { address, isTyped }: ArchiveAddress): Promise<Uint8Array> {
  const url = new URL(address);
  const own = isTyped ? { privateHosts: [url.hostname] } : {};
  const answer = await send(registry, { url, own, maxBytes: MOST_ARCHIVE, timeoutMs: ARCHIVE_MS });
  if (!isOk(answer)) throw failed(url, `status ${answer.status}`);
  if (!isGuarded(answer.url))
    throw unsafe(`${url.host} leads to ${answer.url.host} by http, where anybody between could change it.`);
  if (answer.isCut) throw unsafe(`The archive from ${url.host} has more than ${MOST_ARCHIVE / MB} MB.`);
  return answer.bytes;
}

export interface ArchiveAddress {
  readonly address: string;
  /** Whether the operator wrote it, who may mean a server of a private network. */
  readonly isTyped: boolean;
}

const isOk = ({ status }: WebAnswer): boolean => status >= 200 && status < 300;

interface Sent {
  readonly url: URL;
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly body?: string;
  /** Rules for a host that is not the registry's. */
  readonly own?: HostRules;
}

async function send({ address, token, env }: Registry, { url, body, own = {}, ...limits }: Sent): Promise<WebAnswer> {
  const isOwn = url.origin === address.origin;
  try {
    return await requestWeb(url.href, {
      // The operator named the registry, which may be in a private network; an address that it sends may not.
      rules: isOwn ? { privateHosts: [address.hostname] } : own,
      ...limits,
      maxRedirects: 5,
      signal: new AbortController().signal,
      proxyEnv: env,
      headers: {
        accept: "*/*",
        ...(isOwn && token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { method: "POST" as const, body }),
    });
  } catch (error) {
    throw failed(url, errorText(error), error);
  }
}

const failed = (url: URL, why: string, cause?: unknown): OpenClawError =>
  notFetched(
    `${url.host} did not answer as it should: ${why.replace(/\.$/, "")}.`,
    cause,
    "Check the network and the address of the registry (OPENCLAW_CLAWHUB_URL), then repeat the command.",
  );
