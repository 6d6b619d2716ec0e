import { existsSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { OpenClawError } from "../../types/errors.ts";
import type { InstallRecord } from "../../types/plugin/install-record.ts";

/** Source that the operator wants to install; paths are absolute. */
export type PluginSource =
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "link"; readonly path: string }
  /** A tar or ZIP archive; `hasNpm`: npm fetches its dependencies, as for a published package. */
  | { readonly kind: "archive"; readonly path: string; readonly hasNpm: boolean }
  /** `name`, `name@1.2.3`, `@scope/name@latest`. */
  | { readonly kind: "npm"; readonly spec: string }
  /** `ref`: a branch, a tag or a commit; the default branch when unset. */
  | { readonly kind: "git"; readonly url: string; readonly ref?: string };

/** Directories that a source's text is relative to. */
export interface SourceRoots {
  readonly cwd: string;
  readonly home: string;
}

const ARCHIVE = /\.(?:tgz|tar\.gz|tar|zip)$/i;
const NPM_SPEC = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?(?!-)[a-z0-9~-][a-z0-9._~-]*(?:@[^\s/:@]+)?$/i;

/** Reads the argument of `plugins install`. Throws `USAGE`. */
export function parseSource(text: string, where: SourceRoots): PluginSource {
  if (text.startsWith("npm-pack:")) return archiveAt(pathOf(text.slice("npm-pack:".length), where), true);
  if (text.startsWith("npm:")) return npmSource(text.slice("npm:".length));
  if (/^git(?:\+[a-z]+)?:/.test(text)) return gitSource(text);
  if (text.startsWith("clawhub:"))
    throw usage(`The source ${text} is in a marketplace, which this gateway does not use.`);
  const path = pathOf(text, where);
  if (ARCHIVE.test(text)) return archiveAt(path, false);
  if (/^(?:[.~/\\]|[A-Za-z]:[/\\])/.test(text) || existsSync(path)) return { kind: "path", path };
  return npmSource(text);
}

/** The folder of `plugins install --link`. */
export const linkSource = (text: string, where: SourceRoots): PluginSource => ({
  kind: "link",
  path: pathOf(text, where),
});

/** The source of a record, to install from it again; undefined where that is not possible. Throws `USAGE`. */
export function sourceOfRecord({ source, spec }: InstallRecord, where: SourceRoots): PluginSource | undefined {
  if (spec === undefined) return undefined;
  if (source === "npm") return npmSource(spec);
  if (source === "path") return { kind: "path", path: spec };
  return source === "git" || source === "archive" ? parseSource(spec, where) : undefined;
}

/** How a source is written in a record. */
export function sourceText(source: PluginSource): string {
  if (source.kind === "npm") return source.spec;
  if (source.kind === "archive" && source.hasNpm) return `npm-pack:${source.path}`;
  if (source.kind === "git") return `git:${source.url}${source.ref === undefined ? "" : `#${source.ref}`}`;
  return source.path;
}

function pathOf(text: string, { cwd, home }: SourceRoots): string {
  if (text === "~" || text.startsWith("~/")) return join(home, text.slice(1));
  return isAbsolute(text) ? resolve(text) : resolve(cwd, text);
}

function archiveAt(path: string, hasNpm: boolean): PluginSource {
  if (!existsSync(path)) throw usage(`There is no file ${path}.`, "Check the path.");
  return { kind: "archive", path, hasNpm };
}

function npmSource(spec: string): PluginSource {
  if (NPM_SPEC.test(spec)) return { kind: "npm", spec };
  throw usage(`${JSON.stringify(spec)} is neither a path that exists nor the name of an npm package.`);
}

/** `git:https://host/x.git#ref`, `git+https://…`, `git:git@host:x.git`, `git://…`. */
function gitSource(text: string): PluginSource {
  const address = text.startsWith("git://") ? text : text.replace(/^git[+:]/, "");
  const [url, ref] = splitRef(address);
  if (/^(?:https?:\/\/[^/]*@|\w+:\/\/[^/@]*:[^/@]*@)/.test(url))
    throw usage("The address has a password in it, which would be kept.", KEEP_SECRET);
  if (
    /^(?:(?:https?|ssh|git|file):\/\/|[\w.-]+@[\w.-]+:|\/)/.test(url) &&
    !/:\/\/-/.test(url) &&
    !/^[-+]|\s/.test(`${ref ?? ""}`)
  )
    return { kind: "git", url, ...(ref !== undefined && { ref }) };
  throw usage(`${text} is no address of a git repository.`);
}

function splitRef(address: string): readonly [string, string | undefined] {
  const at = address.lastIndexOf("#");
  return at === -1 ? [address, undefined] : [address.slice(0, at), address.slice(at + 1) || undefined];
}

const KEEP_SECRET = "Leave it out, and let git's credential helper give it.";
const FORMS =
  "Give a folder, a .tgz, .tar.gz, .tar or .zip file, npm:<name>[@version], npm-pack:<file.tgz>, or git:<address>[#ref].";

const usage = (message: string, fix = FORMS): OpenClawError => new OpenClawError("USAGE", { message, fix });
