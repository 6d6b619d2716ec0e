import { lstat, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { z } from "zod";
import { type Frontmatter, parseFrontmatter } from "../../prompt/skills/frontmatter.ts";
import type { SkillConditions } from "../../prompt/skills/skill-conditions.ts";
import { ownMetadataOf, skillMetadata } from "../../prompt/skills/skill-metadata.ts";
import { defined } from "../../utils/defined.ts";
import { errorCode, unlessMissing } from "../../utils/missing.ts";
import { propertyOf } from "../../utils/own.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import { hooksTelling } from "./event.ts";

/** What the `HOOK.md` of a hook says, and where its code is. */
export interface HookFile {
  readonly name: string;
  readonly description: string;
  readonly homepage?: string;
  readonly emoji?: string;
  /** Its name in `hooks.internal.entries`. */
  readonly key: string;
  /** Names of internal events. */
  readonly events: readonly string[];
  /** Those of `events` that this gateway does not know. */
  readonly unknownEvents: readonly string[];
  readonly exportName: string;
  readonly needs: SkillConditions;
  /** Absolute. */
  readonly folder: string;
  /** Name of the file with its code, in the folder. */
  readonly handler: string;
}

/** A folder that should hold a hook, and why it does not. */
export interface BadHook {
  readonly folder: string;
  readonly why: string;
}

const HOOK_FILE = "HOOK.md";
/** The field's names, the preferred one first, and those of modules whose format is in their name. */
const HANDLERS = ["handler.ts", "handler.js", "handler.mjs", "index.ts", "index.js", "index.mjs"];
const MOST_BYTES = 256_000;
/** It is a config key, and a word of the command line and of logs. */
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

/** The hook of a folder; undefined when it has no `HOOK.md`. Runs none of its code. Never rejects. */
export async function readHook(folder: string): Promise<HookFile | BadHook | undefined> {
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

/** What the metadata says, or why it cannot be used. */
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

/** The first of the file names that is there. A link that leads out of the folder is not followed. */
async function handlerIn(folder: string): Promise<string | { readonly why: string }> {
  for (const name of HANDLERS) {
    const path = join(folder, name);
    if (!(await unlessMissing(lstat(path)))) continue;
    if (isInside(await realOf(path), await realOf(folder))) return name;
    return { why: `its ${name} is a link that leads out of its folder` };
  }
  return { why: `it has no ${HANDLERS.slice(0, -1).join(", ")} or ${HANDLERS.at(-1)}` };
}
