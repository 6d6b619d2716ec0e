import { readdir, stat } from "node:fs/promises";
import { basename, join, posix, relative, resolve } from "node:path";
import { z } from "zod";
import { requireAgent } from "../../../server/methods/patch.ts";
import { agentOf } from "../../../sessions/keys.ts";
import { changedFiles, WRITERS } from "../../../tools/files/changed-files.ts";
import { respelled } from "../../../tools/files/spellings.ts";
import type { SessionKey } from "../../../types/ids.ts";
import { keyField, keyParam } from "../../../types/key-field.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import type { ToolCallContent, ToolResultMessage } from "../../../types/run/model.ts";
import type { TranscriptEntry } from "../../../types/session.ts";
import { isFields } from "../../../utils/fields.ts";
import { isMissing, unlessMissing } from "../../../utils/missing.ts";
import { deniedPaths } from "../../compose/tools/file-places.ts";
import type { Parts } from "../parts/parts.ts";
import { knownAgent } from "./agent-read-methods.ts";
import { entriesInFolder, placeIn, readPlace } from "./agent-workspace-methods.ts";

type FileParts = Pick<Parts, "live" | "core">;

const touch = z.enum(["read", "modified"]);
type Touch = z.output<typeof touch>;
const count = z.int().min(0).optional();

const file = z.looseObject({
  path: z.string(),
  workspacePath: z.string().optional(),
  name: z.string(),
  kind: touch,
  missing: z.boolean(),
  size: count,
  updatedAtMs: count,
  content: z.string().optional(),
  mimeType: z.string().optional(),
  contentEncoding: z.enum(["utf8", "base64"]).optional(),
  previewKind: z.enum(["text", "image", "unsupported"]).optional(),
});
const browser = z.looseObject({
  path: z.string(),
  parentPath: z.string().optional(),
  search: z.string().optional(),
  entries: z.array(
    z.looseObject({
      path: z.string(),
      name: z.string(),
      kind: z.enum(["file", "directory"]),
      sessionKind: touch.optional(),
      size: count,
      updatedAtMs: count,
    }),
  ),
  truncated: z.boolean().optional(),
});
const place = { sessionKey: keyField(), root: z.string() };
const asked = z.looseObject({ sessionKey: keyParam(), agentId: z.string().min(1).optional() });

/** The methods that show the files of a session: what its agent read and wrote, and the folders of the workspace. */
export const sessionFileMethods = (parts: FileParts): readonly Method[] => [
  defineMethod({
    name: "sessions.files.list",
    scope: "operator.read",
    params: asked.extend({ path: z.string().max(4096).default(""), search: z.string().max(256).default("") }),
    result: z.looseObject({ ...place, gitCheckout: z.boolean(), files: z.array(file), browser }),
    run: async ({ path, search, ...params }) => {
      const { key, root, folder } = placeOf(params, parts);
      const touched = await touchedBy(key, root, parts);
      const files = await Promise.all([...touched].map(async ([name, kind]) => factsOf(folder, name, kind)));
      return {
        sessionKey: key,
        root,
        gitCheckout: (await unlessMissing(stat(join(root, ".git")))) !== undefined,
        files: files.flat(),
        browser:
          search.trim() === "" ? await folderAt(folder, path, touched) : await found(root, search.trim(), touched),
      };
    },
  }),
  defineMethod({
    name: "sessions.files.get",
    scope: "operator.read",
    params: asked.extend({ path: z.string().min(1).max(4096) }),
    result: z.looseObject({ ...place, file }),
    run: async ({ path, ...params }) => {
      const { key, root, folder } = placeOf(params, parts);
      const kind = (await touchedBy(key, root, parts)).get(posix.normalize(path)) ?? "read";
      return { sessionKey: key, root, file: await contentOf(folder, path, kind) };
    },
  }),
];

function placeOf(params: z.output<typeof asked>, { live }: FileParts) {
  const { sessionKey: key } = params;
  requireAgent(params, key, { catalog: { defaultAgent: live.defaultAgent.id } });
  const root = knownAgent(live, agentOf(key, live.defaultAgent.id)).workspace;
  return { key, root, folder: { root, closed: deniedPaths(live) } };
}

/** A workspace, and the paths of the gateway's own that may lie in it. */
interface Folder {
  readonly root: string;
  readonly closed: readonly string[];
}

/** Entries of a conversation in which calls are searched. */
const SEARCHED = 2000;

/** The files of the workspace that calls of the conversation have read or changed, by their paths in it. */
async function touchedBy(key: SessionKey, root: string, { core }: FileParts): Promise<ReadonlyMap<string, Touch>> {
  const { entries } = await core.sessions.history(key, SEARCHED);
  const touched = new Map<string, Touch>();
  for (const { path, kind } of touchesIn(entries)) {
    const inside = relative(root, resolve(root, path)).replaceAll("\\", "/");
    if (inside === "" || inside === ".." || inside.startsWith("../")) continue;
    if (touched.get(inside) !== "modified") touched.set(inside, kind);
  }
  return touched;
}

interface FileTouch {
  readonly path: string;
  readonly kind: Touch;
}

function touchesIn(entries: readonly TranscriptEntry[]): readonly FileTouch[] {
  const messages = entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
  const parts = messages.flatMap((message) => (message.role === "assistant" ? message.content : []));
  const calls = new Map(parts.flatMap((part) => (part.type === "toolCall" ? [[part.id, part] as const] : [])));
  return messages.flatMap((message) => {
    const call = message.role === "toolResult" ? calls.get(message.toolCallId) : undefined;
    return message.role === "toolResult" && call ? touchesOf(call, message) : [];
  });
}

function touchesOf(call: ToolCallContent, { details, isError }: ToolResultMessage): readonly FileTouch[] {
  const args = respelled(call.arguments);
  if (WRITERS.has(call.name)) {
    const changed = changedFiles(args, { content: [], details: isFields(details) ? { ...details } : {} });
    return changed.map(({ path }) => ({ path, kind: "modified" }));
  }
  const path = isFields(args) ? args["path"] : undefined;
  return call.name === "read" && !isError && typeof path === "string" ? [{ path, kind: "read" }] : [];
}

/** Nothing for a path that a link leads out of the workspace. */
async function factsOf({ root, closed }: Folder, path: string, kind: Touch) {
  const about = { path, workspacePath: path, name: basename(path), kind };
  try {
    const { real } = await placeIn(root, path, closed);
    const facts = await unlessMissing(stat(real));
    if (!facts) return [{ ...about, missing: true }];
    return [{ ...about, missing: false, size: facts.size, updatedAtMs: Math.round(facts.mtimeMs) }];
  } catch (error) {
    if (error instanceof MethodError) return [];
    if (isMissing(error)) return [{ ...about, missing: true }];
    throw error;
  }
}

type Touched = ReadonlyMap<string, Touch>;

async function folderAt({ root, closed }: Folder, asked: string, touched: Touched) {
  const folder = await placeIn(root, asked, closed);
  const entries = await entriesInFolder(folder);
  const parent = posix.dirname(folder.path);
  return {
    path: folder.path,
    ...(folder.path !== "" && { parentPath: parent === "." ? "" : parent }),
    entries: entries.slice(0, MOST_SHOWN).map((entry) => marked(entry, touched)),
    ...(entries.length > MOST_SHOWN && { truncated: true }),
  };
}

function marked<T extends { readonly path: string }>(entry: T, touched: Touched) {
  const sessionKind = touched.get(entry.path);
  return { ...entry, ...(sessionKind && { sessionKind }) };
}

const MOST_SHOWN = 500;
/** Folders in which a name is searched. */
const MOST_FOLDERS = 2000;
const UNSEARCHED: ReadonlySet<string> = new Set([".git", "node_modules"]);

/** The files and folders whose names have the text, those nearest to the root first. Links are not followed. */
async function found(root: string, search: string, touched: Touched) {
  const wanted = search.toLowerCase();
  const folders = [""];
  const paths: string[] = [];
  for (let at = 0; at < folders.length && at < MOST_FOLDERS && paths.length <= MOST_SHOWN; at++) {
    const folder = folders[at] ?? "";
    const all = (await unlessMissing(readdir(join(root, folder), { withFileTypes: true }))) ?? [];
    for (const entry of all.filter((one) => one.isFile() || one.isDirectory())) {
      const path = posix.join(folder, entry.name);
      if (entry.name.toLowerCase().includes(wanted)) paths.push(path);
      if (entry.isDirectory() && !UNSEARCHED.has(entry.name)) folders.push(path);
    }
  }
  const entries = await Promise.all(paths.slice(0, MOST_SHOWN).map((path) => entryAt(root, path)));
  const isCut = paths.length > MOST_SHOWN || folders.length > MOST_FOLDERS;
  return {
    path: "",
    search,
    entries: entries.flat().map((entry) => marked(entry, touched)),
    ...(isCut && { truncated: true }),
  };
}

async function entryAt(root: string, path: string) {
  const facts = await unlessMissing(stat(join(root, path)));
  if (!facts) return [];
  const about = { path, name: basename(path), updatedAtMs: Math.round(facts.mtimeMs) };
  return [
    facts.isDirectory()
      ? { ...about, kind: "directory" as const }
      : { ...about, kind: "file" as const, size: facts.size },
  ];
}

/** A file that is too large, or neither text nor an image, comes without its content. */
async function contentOf({ root, closed }: Folder, asked: string, kind: Touch) {
  const found = await placeIn(root, asked, closed);
  const about = { path: found.path, workspacePath: found.path, name: basename(found.path), kind, missing: false };
  try {
    const { encoding, ...read } = await readPlace(found);
    const previewKind = read.mimeType.startsWith("image/") ? ("image" as const) : ("text" as const);
    return { ...about, ...read, contentEncoding: encoding, previewKind };
  } catch (error) {
    if (error instanceof MethodError && error.code === "INVALID_REQUEST")
      return { ...about, previewKind: "unsupported" as const };
    throw error;
  }
}
