import { existsSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import type { InstallRecord } from "../../types/plugin/install-record.ts";
import { OpenClawError } from "../../types/errors.ts";
import { parseSource, sourceText, type PluginSource, type SourceRoots } from "../install/source.ts";

/** A skill in the registry: `@owner/slug`, or `slug` where only one publisher has it. */
export interface SkillRef {
  readonly owner?: string;
  readonly slug: string;
}

/** Source that the operator wants to install a skill from; paths are absolute. */
export type SkillSource =
  | Extract<PluginSource, { kind: "path" | "archive" | "git" }>
  | { readonly kind: "url"; readonly url: string }
  /** `version`: no update changes it. */
  | { readonly kind: "clawhub"; readonly ref: SkillRef; readonly version?: string };

const OWNER = /^[a-z0-9](?:[a-z0-9._-]{0,38}[a-z0-9])?$/;
const SLUG = /^[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?$/i;

/** Reads the argument of `skills install`. Throws `USAGE`. */
export function parseSkillSource(text: string, where: SourceRoots): SkillSource {
  if (/^https?:\/\//i.test(text)) return { kind: "url", url: urlOf(text) };
  if (text.startsWith("clawhub:")) return registrySource(text.slice("clawhub:".length));
  if (text.startsWith("@")) return registrySource(text);
  if (/^(?:npm|npm-pack|skills-sh):/.test(text)) throw usage(`A skill is not installed from ${text}.`);
  const isPath = /^[.~/\\]|[/\\]|\.(?:tgz|tar\.gz|tar|zip)$/i.test(text) || existsSync(pathOf(text, where));
  if (!isPath && !/^git[+:]/.test(text)) return registrySource(text);
  const source = parseSource(text, where);
  if (source.kind === "path" || source.kind === "archive" || source.kind === "git") return source;
  throw usage(`There is no folder ${text}.`);
}

const pathOf = (text: string, { cwd }: SourceRoots): string => (isAbsolute(text) ? text : resolve(cwd, text));

/** The address of an archive. Throws `USAGE` for one that anybody between could change, or that holds a password. */
function urlOf(text: string): string {
  const url = URL.parse(text);
  if (!url) throw usage(`${text} is no web address.`);
  if (url.username !== "" || url.password !== "")
    throw usage("The address has a password in it, which would be kept.", "Fetch the archive, and install the file.");
  if (!isGuarded(url))
    throw usage(`Anybody between could change what ${url.host} sends by http.`, "Use an https address.");
  return url.href;
}

/** Whether nobody between can change the answer: https, or a program on this machine. */
export const isGuarded = ({ protocol, hostname }: URL): boolean =>
  protocol === "https:" || (protocol === "http:" && /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(hostname));

/** `@owner/slug`, `slug`, each also with `@version`. */
function registrySource(text: string): SkillSource {
  const [, owner, slug = "", version] = /^(?:@([^/@]+)\/)?([^/@]+)(?:@([^/@\s]+))?$/.exec(text) ?? [];
  if (!SLUG.test(slug) || (owner !== undefined && !OWNER.test(owner.toLowerCase())))
    throw usage(`${JSON.stringify(text)} is neither a path that exists nor the name of a skill in the registry.`);
  const ref = { slug, ...(owner !== undefined && { owner: owner.toLowerCase() }) };
  return { kind: "clawhub", ref, ...(version !== undefined && { version }) };
}

export const skillRefText = ({ owner, slug }: SkillRef): string => (owner === undefined ? slug : `@${owner}/${slug}`);

/** How a source is written in a record. */
export function skillSourceText(source: SkillSource): string {
  if (source.kind === "url") return source.url;
  if (source.kind !== "clawhub") return sourceText(source);
  return `clawhub:${skillRefText(source.ref)}${source.version === undefined ? "" : `@${source.version}`}`;
}

/** The source of a record, to install from it again; undefined where that is not known. Throws `USAGE`. */
export const skillSourceOf = ({ spec }: InstallRecord, where: SourceRoots): SkillSource | undefined =>
  spec === undefined ? undefined : parseSkillSource(spec, where);

const FORMS =
  "Give a folder, a .zip, .tgz, .tar.gz or .tar file, its https address, git:<address>[#ref], or @owner/slug of the registry.";

const usage = (message: string, fix = FORMS): OpenClawError => new OpenClawError("USAGE", { message, fix });
