import type { Stats } from "node:fs";
import { readdir, realpath, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CONTEXT_FILES, PRIVATE_FILE } from "../types/engine/context-files.ts";
import { OpenClawError } from "../types/errors.ts";
import { stampOf } from "../store/file-stamp.ts";
import { makeDirectory } from "../store/make-directory.ts";
import type { AgentSettings } from "../types/settings.ts";
import { errorCode } from "../utils/missing.ts";
import { readRegular } from "../utils/read-regular.ts";
import { accessFault } from "../utils/access-fault.ts";
import { existingAbove, isInside, realOf } from "../utils/real-path.ts";
import { errorText } from "../utils/text/error-text.ts";
import type { ContextFile } from "./system-context.ts";
import { WORKSPACE_TEMPLATES } from "./templates.ts";
import { forgetOldest } from "../utils/forget-oldest.ts";
import { truncateMiddle } from "./truncate-middle.ts";

/** The file with the tasks of heartbeats. */
export const CHECKLIST = "HEARTBEAT.md";

/** Characters of one context file, and of all together, where no limits are set. */
export const TEXT_LIMITS = { maxChars: 20_000, totalMaxChars: 150_000 } as const;

export interface BootstrapLimits {
  /** Characters of one file; 20,000 when unset. */
  readonly maxChars?: number;
  /** Characters of all files together; 150,000 when unset. */
  readonly totalMaxChars?: number;
  /** A file that is a link to a place outside of the workspace is not read. */
  readonly isConfined?: boolean;
}

/**
 * The limits of an agent's context files. Where sandboxed commands may write the workspace, they could put a link there that
 * leads to a file which they cannot read themselves.
 */
export const contextLimits = ({ prompt, sandbox }: Pick<AgentSettings, "prompt" | "sandbox">): BootstrapLimits => ({
  maxChars: prompt.bootstrapMaxChars,
  totalMaxChars: prompt.bootstrapTotalMaxChars,
  ...isConfined(sandbox),
});

/** Part of `BootstrapLimits`. Whatever the mode: a call, a conversation or `tools.exec.host` may want a sandbox, too. */
export const isConfined = (sandbox: AgentSettings["sandbox"]): Pick<BootstrapLimits, "isConfined"> =>
  sandbox?.workspaceAccess === "rw" ? { isConfined: true } : {};

interface CachedFile {
  readonly mtimeMs: number;
  readonly size: number;
  readonly content: string;
  /** The file is a link to a place outside of the workspace. */
  readonly leadsOut: boolean;
}

/** Files by path, the most that are kept: several agents have a handful each. */
const MOST_CACHED = 200;
const cache = new Map<string, CachedFile>();

/** Bytes of a file of which the prompt shows far less. */
const MOST_BYTES = 10 * 1_048_576;

const LEADS_OUT =
  "[This file is a link that leads out of the workspace; it is not read while commands may write the workspace]";

interface Reading {
  readonly workspace: string;
  readonly limits: BootstrapLimits;
}

async function readCached(name: string, { workspace, limits }: Reading): Promise<string | undefined> {
  const path = join(workspace, name);
  try {
    const found = stampOf(path);
    if (!found) return forget(path);
    const { mtimeMs, size } = found;
    const known = cache.get(path);
    const file = known?.mtimeMs === mtimeMs && known.size === size ? known : await readNow(path, workspace, found);
    if (limits.isConfined === true && file.leadsOut) return LEADS_OUT;
    if (file !== known) cache.set(path, file);
    forgetOldest(cache, MOST_CACHED);
    return file.content;
  } catch (error) {
    forget(path);
    const code = codeOf(error);
    // An unreadable file must not end the run, nor silently change the agent's identity.
    return code === "ENOENT" || code === "ENOTDIR" ? undefined : `[This file could not be read: ${code}]`;
  }
}

/** Reads the file at the path that was checked. A program may put a link or a named pipe in its place meanwhile. */
async function readNow(path: string, workspace: string, found: Stats): Promise<CachedFile> {
  const { mtimeMs, size } = found;
  const real = await realpath(path);
  const leadsOut = !isInside(real, await realOf(workspace));
  const content = found.isFile()
    ? (await readRegular(real, MOST_BYTES)).toString("utf8")
    : "[This is not a regular file]";
  return { mtimeMs, size, content, leadsOut };
}

const codeOf = (error: unknown): string =>
  errorCode(error) ?? errorCode(error instanceof Error ? error.cause : undefined) ?? errorText(error);

function forget(path: string): undefined {
  cache.delete(path);
}

/**
 * The context files of a workspace in their order, each shortened to its limit; `CLAUDE.md` only without an
 * `AGENTS.md`. Missing and empty files are left out; a file without remaining space is only its marker. While nothing
 * changes, costs a `stat` of the workspace and of each file that is there. Never throws.
 */
export async function loadContextFiles(
  workspace: string,
  limits: BootstrapLimits = {},
  names: readonly string[] = CONTEXT_FILES,
): Promise<readonly ContextFile[]> {
  const contents = await Promise.all(
    names.map(async (name) => ({ name, text: await readCached(name, { workspace, limits }) })),
  );
  const hasAgents = contents.some(({ name, text }) => name === "AGENTS.md" && text !== undefined);
  let left = limits.totalMaxChars ?? TEXT_LIMITS.totalMaxChars;
  const files: ContextFile[] = [];
  for (const { name, text } of contents) {
    if (text === undefined || text.trim() === "" || (name === "CLAUDE.md" && hasAgents)) continue;
    const content = truncateMiddle(text, Math.min(limits.maxChars ?? TEXT_LIMITS.maxChars, left));
    left = Math.max(0, left - content.length);
    files.push({ path: name, content, ...(content !== text && { wholeChars: text.length }) });
  }
  return files;
}

/** The files for the prompt of a conversation: `MEMORY.md` only where no one but owners reads the conversation. */
export const filesFor = (
  { isPrivate }: { readonly isPrivate: boolean },
  files: readonly ContextFile[],
): readonly ContextFile[] => (isPrivate ? files : files.filter(({ path }) => path !== PRIVATE_FILE));

/**
 * Creates the first files of a workspace, but only in a directory that is missing or empty: existing files are the
 * user's. Returns the names that were written. Throws `OpenClawError` WORKSPACE_UNUSABLE when the directory cannot be made, read
 * or written, and the system's error when the disk is full.
 */
export async function seedWorkspace(directory: string): Promise<readonly string[]> {
  try {
    return await seed(directory);
  } catch (error) {
    if (errorCode(error) === "ENOSPC") throw error;
    throw unusable(directory, error);
  }
}

/**
 * Whether a workspace is there; a start makes a missing one. Throws `OpenClawError` WORKSPACE_UNUSABLE where `seedWorkspace` would.
 * Changes nothing.
 */
export async function hasWorkspace(directory: string): Promise<boolean> {
  try {
    const [nearest] = await existingAbove(directory);
    if (!(await stat(nearest)).isDirectory()) throw new Error(`${nearest} is no directory`);
    const fault = await accessFault(nearest, "fill");
    if (fault) throw new Error(`${fault.why}. ${fault.fix}`);
    return nearest === directory;
  } catch (error) {
    throw unusable(directory, error);
  }
}

const unusable = (directory: string, error: unknown): OpenClawError =>
  new OpenClawError("WORKSPACE_UNUSABLE", {
    message: `the workspace ${directory} cannot be used: ${errorText(error)}`,
    fix: "Mend that directory, or name another in agents.defaults.workspace or agents.list[].workspace.",
    cause: error,
  });

async function seed(directory: string): Promise<readonly string[]> {
  await makeDirectory(directory);
  if ((await readdir(directory)).length > 0) {
    return [];
  }
  const files = Object.entries(WORKSPACE_TEMPLATES);
  const written = await Promise.all(files.map(([name, text]) => writeNew(join(directory, name), text)));
  return files.flatMap(([name], at) => (written[at] ? [name] : []));
}

/** False where there is such a file: agents may have one workspace, or a person makes the same. */
async function writeNew(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}
