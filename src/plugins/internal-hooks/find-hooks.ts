import { readdir, lstat, readFile } from "node:fs/promises";
import { join, resolve, basename } from "node:path";
import { z } from "zod";
import { unlessMissing, errorCode } from "../../utils/missing.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { packOf } from "./hook-pack.ts";
import { type Frontmatter, parseFrontmatter } from "../../prompt/skills/frontmatter.ts";
import type { SkillConditions } from "../../prompt/skills/skill-conditions.ts";
import { ownMetadataOf, skillMetadata } from "../../prompt/skills/skill-metadata.ts";
import { defined } from "../../utils/defined.ts";
import { propertyOf } from "../../utils/own.ts";
import { hooksTelling } from "./event.ts";

/** Where a hook comes from. `managed`: `hooks/` of the state directory, and `hooks.internal.load.extraDirs`. */
export type HookSource = "bundled" | "plugin" | "managed" | "workspace";

/** A folder in which hooks are looked for. */
export interface HookRoot {
  readonly source: HookSource;
  /** Absolute. Each folder in it may be a hook; with `isHook` it may also be one itself. */
  readonly dir: string;
  readonly isHook?: true;
  /** The agent of the workspace: its hooks get the events of this agent alone. */
  readonly agent?: string;
  /** The plugin that the folder belongs to. */
  readonly plugin?: string;
}

/** A hook, with the place that it was found in. */
export interface FoundHook extends HookFile {
  readonly root: HookRoot;
}

/** A folder that is no hook, or that another hook of the name is preferred to. */
export interface LeftOutHook extends BadHook {
  readonly source: HookSource;
  /** Name of the hook, where it can be read. */
  readonly name?: string;
}

export interface FoundHooks {
  /** A hook for each name. */
  readonly hooks: readonly FoundHook[];
  readonly leftOut: readonly LeftOutHook[];
}

/** Folders of one root that are looked at, in the order of their names. */
const MOST_FOLDERS = 300;

/**
 * Finds the hooks of all roots, and reads their `HOOK.md`. An earlier root is preferred, but for managed hooks, which
 * may replace bundled hooks and hooks of plugins. Runs no code of a hook. Never rejects.
 */
export async function findHooks(roots: readonly HookRoot[]): Promise<FoundHooks> {
  const read = await Promise.all(roots.map(async (root) => ({ root, found: await hooksIn(root) })));
  const leftOut: LeftOutHook[] = [];
  const byName = new Map<string, FoundHook>();
  for (const { root, found } of read) {
    for (const one of found) {
      if ("why" in one) leftOut.push({ ...one, source: root.source });
      else place({ ...one, root }, byName, leftOut);
    }
  }
  return { hooks: [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)), leftOut };
}

function place(hook: FoundHook, byName: Map<string, FoundHook>, leftOut: LeftOutHook[]): void {
  const before = byName.get(hook.name);
  const replaces =
    hook.root.source === "managed" && (before?.root.source === "bundled" || before?.root.source === "plugin");
  if (!before || replaces) byName.set(hook.name, hook);
  if (!before || before.folder === hook.folder) return;
  const [used, other] = replaces ? [hook, before] : [before, hook];
  const why = `${used.folder} has a hook of the same name, which is used`;
  leftOut.push({ folder: other.folder, name: other.name, source: other.root.source, why });
}

async function hooksIn({ dir, isHook }: HookRoot): Promise<readonly (HookFile | BadHook)[]> {
  try {
    const own = isHook === true ? await hooksAt(dir) : [];
    if (own.length > 0) return own;
    const entries = (await unlessMissing(readdir(dir))) ?? [];
    const names = entries.filter((name) => !name.startsWith(".")).toSorted();
    const found = await Promise.all(names.slice(0, MOST_FOLDERS).map((name) => hooksAt(join(dir, name))));
    const why = `only ${MOST_FOLDERS} of its ${names.length} entries are looked at`;
    return [...found.flat(), ...(names.length > MOST_FOLDERS ? [{ folder: dir, why }] : [])];
  } catch (error) {
    return [{ folder: dir, why: `it cannot be read: ${errorText(error)}` }];
  }
}

/** The hook of a folder, or the hooks of a pack: an npm package that names the folders of its hooks. */
async function hooksAt(folder: string): Promise<readonly (HookFile | BadHook)[]> {
  const own = await readHook(folder);
  if (own) return [own];
  const { hooks: named } = await packOf(folder);
  const read = await Promise.all(
    named.map(async (name) => {
      const path = resolve(folder, name);
      if (!isInside(path, folder)) return { folder, why: `its package.json names ${name}, which is not in it` };
      return (
        (await readHook(path)) ?? {
          folder: path,
          why: "the package.json above names it as a hook, and it has no HOOK.md",
        }
      );
    }),
  );
  return read;
}

/** Content of a hook's `HOOK.md`, and the place of the hook's code. */
interface HookFile {
  readonly name: string;
  readonly description: string;
  readonly homepage?: string;
  readonly emoji?: string;
  /** Name of the hook in `hooks.internal.entries`. */
  readonly key: string;
  /** Names of internal events. */
  readonly events: readonly string[];
  /** Names of `events` that this gateway does not know. */
  readonly unknownEvents: readonly string[];
  readonly exportName: string;
  readonly needs: SkillConditions;
  /** Absolute. */
  readonly folder: string;
  /** Name of the file with the hook's code, in the folder. */
  readonly handler: string;
}

/** A folder that should hold a hook, and why it does not. */
interface BadHook {
  readonly folder: string;
  readonly why: string;
}

const HOOK_FILE = "HOOK.md";
/** The field's names, the preferred one first, then names of modules whose format is in their name. */
const HANDLERS = ["handler.ts", "handler.js", "handler.mjs", "index.ts", "index.js", "index.mjs"];
const MOST_BYTES = 256_000;
/** Form of a hook's name, which is a config key, and a word of the command line and of logs. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const MOST_CHARS = 1024;

const texts = z.union([z.array(z.string()), z.string().transform((text) => [text])]).default([]);

const own = z.lazy(() =>
  z.object({
    events: texts,
    export: z.string().min(1).default("default"),
    hookKey: z.string().min(1).optional(),
    emoji: z.string().max(16).optional(),
    homepage: z.string().max(MOST_CHARS).optional(),
  }),
);

/** The hook of a folder; undefined when it has no `HOOK.md`. Runs no code of the hook. Never rejects. */
async function readHook(folder: string): Promise<HookFile | BadHook | undefined> {
  try {
    const file = join(folder, HOOK_FILE);
    const found = await unlessMissing(lstat(file));
    if (!found) return undefined;
    if (!found.isFile() || found.size > MOST_BYTES)
      return { folder, why: `its ${HOOK_FILE} is no regular file of at most ${MOST_BYTES} bytes` };
    return await parse(folder, await readFile(file, "utf8"));
  } catch (error) {
    const code = errorCode(error) ?? String(error);
    return code === "ENOTDIR" ? undefined : { folder, why: `it cannot be read (${code})` };
  }
}

async function parse(folder: string, source: string): Promise<HookFile | BadHook> {
  const front = await parseFrontmatter(source);
  if (front === undefined)
    return { folder, why: `its ${HOOK_FILE} does not begin with frontmatter between two lines of ---` };
  if (typeof front === "string") return { folder, why: `the frontmatter of its ${HOOK_FILE} ${front}` };
  const name = textOf(front, "name") ?? basename(folder);
  if (!NAME.test(name)) return { folder, why: "its name is not made of at most 64 letters, digits, `.`, `_` and `-`" };
  const listening = listeningOf(front, name);
  if (typeof listening === "string") return { folder, why: listening };
  const handler = await handlerIn(folder);
  if (typeof handler === "object") return { folder, ...handler };
  const description = (textOf(front, "description") ?? "").replaceAll(/\s+/g, " ");
  return { name, description, ...listening, folder, handler };
}

type Listening = Omit<HookFile, "name" | "description" | "folder" | "handler">;

/** Content of the metadata, or why the metadata cannot be used. */
function listeningOf(front: Frontmatter, name: string): Listening | string {
  const metadata = front["metadata"];
  const conditions = skillMetadata(metadata);
  const read = own.safeParse(ownMetadataOf(metadata));
  if (!read.success || !conditions) return `the metadata of its ${HOOK_FILE} cannot be read`;
  const { events, export: exportName, hookKey: key = name, emoji, homepage = textOf(front, "homepage") } = read.data;
  if (events.length === 0) return `its ${HOOK_FILE} names no events (metadata.openclaw.events)`;
  const unknownEvents = events.filter((event) => hooksTelling(event).length === 0);
  return { key, events, unknownEvents, exportName, needs: conditions.needs, ...defined({ emoji, homepage }) };
}

function textOf(front: Frontmatter, key: string): string | undefined {
  const value = propertyOf(front, key);
  return typeof value === "string" && value.trim() !== "" ? value.trim().slice(0, MOST_CHARS) : undefined;
}

/** The first of the file names that exists. A link that leads out of the folder is not followed. */
async function handlerIn(folder: string): Promise<string | { readonly why: string }> {
  for (const name of HANDLERS) {
    const path = join(folder, name);
    if (!(await unlessMissing(lstat(path)))) continue;
    if (isInside(await realOf(path), await realOf(folder))) return name;
    return { why: `its ${name} is a link that leads out of its folder` };
  }
  return { why: `it has no ${HANDLERS.slice(0, -1).join(", ")} or ${HANDLERS.at(-1)}` };
}
