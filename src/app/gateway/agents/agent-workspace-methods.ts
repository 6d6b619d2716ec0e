import { readdir, stat } from "node:fs/promises";
import { basename, extname, join, posix } from "node:path";
import { z } from "zod";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { unlessMissing } from "../../../utils/missing.ts";
import { readRegular } from "../../../utils/read-regular.ts";
import { isInside, realOf } from "../../../utils/real-path.ts";
import { holdsFile } from "../../../tools/host/guest-files.ts";
import { deniedPaths } from "../../compose/tools/file-places.ts";
import type { Parts } from "../parts/parts.ts";
import { knownAgent } from "./agent-read-methods.ts";

const agentId = z.string().min(1).max(200);
const path = z.string().max(4096);

const entry = z.looseObject({
  path: z.string(),
  name: z.string(),
  /** `file` or `directory`. */
  kind: z.string(),
  /** Bytes of a file. */
  size: z.number().optional(),
  updatedAtMs: z.number().optional(),
});

const MOST_TEXT_BYTES = 256 * 1024;
const MOST_IMAGE_BYTES = 4 * 1024 * 1024;
const MOST_ENTRIES = 1000;

const IMAGES: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};

/** The methods that show the files of an agent's workspace. Nothing outside of it is shown, whatever links say. */
export const agentWorkspaceMethods = ({ live }: Pick<Parts, "live">): readonly Method[] => [
  defineMethod({
    name: "agents.workspace.list",
    scope: "operator.read",
    params: z.looseObject({
      agentId,
      path: path.default(""),
      offset: z.int().min(0).default(0),
      limit: z.int().min(1).max(MOST_ENTRIES).default(MOST_ENTRIES),
    }),
    result: z.looseObject({
      agentId: z.string(),
      path: z.string(),
      parentPath: z.string().optional(),
      entries: z.array(entry),
      totalEntries: z.number(),
      offset: z.number(),
    }),
    run: async ({ agentId: id, path: asked, offset, limit }) => {
      const { workspace } = knownAgent(live, id);
      const folder = await placeIn(workspace, asked, deniedPaths(live));
      const entries = await entriesInFolder(folder);
      const parent = posix.dirname(folder.path);
      return {
        agentId: id,
        path: folder.path,
        ...(folder.path !== "" && { parentPath: parent === "." ? "" : parent }),
        entries: entries.slice(offset, offset + limit),
        totalEntries: entries.length,
        offset,
      };
    },
  }),
  defineMethod({
    name: "agents.workspace.get",
    scope: "operator.read",
    params: z.looseObject({ agentId, path: path.min(1) }),
    result: z.looseObject({
      agentId: z.string(),
      file: entry.omit({ kind: true }).required().extend({
        mimeType: z.string(),
        /** `utf8` or `base64`. */
        encoding: z.string(),
        content: z.string(),
      }),
    }),
    run: async ({ agentId: id, path: asked }) => {
      const { workspace } = knownAgent(live, id);
      return { agentId: id, file: await readPlace(await placeIn(workspace, asked, deniedPaths(live))) };
    },
  }),
];

/** A path below the workspace, with `/`, and the same without links. */
export interface WorkspacePlace {
  readonly path: string;
  readonly real: string;
}

/**
 * Throws NOT_FOUND for a path that is not there, leads out of the workspace, or to one of the `closed` paths, also under
 * another name of the same file.
 */
export async function placeIn(workspace: string, asked: string, closed: readonly string[]): Promise<WorkspacePlace> {
  const plain = posix.normalize(asked.replaceAll("\\", "/"));
  const way = plain === "." ? "" : plain.replace(/\/$/, "");
  if (posix.isAbsolute(way) || way.includes("\0") || way === ".." || way.startsWith("../")) throw notThere(asked);
  const [root, real] = await Promise.all([realOf(workspace), realOf(join(workspace, way))]);
  if (!isInside(real, root) || (await isClosed(real, closed))) throw notThere(asked);
  return { path: way, real };
}

async function isClosed(real: string, closed: readonly string[]): Promise<boolean> {
  const own = await Promise.all(closed.map(realOf));
  if (own.some((path) => isInside(real, path))) return true;
  const facts = await unlessMissing(stat(real));
  if (facts?.isFile() !== true || facts.nlink < 2) return false;
  for (const path of own) if (await holdsFile(path, facts)) return true;
  return false;
}

const notThere = (asked: string): MethodError =>
  new MethodError("NOT_FOUND", `the workspace has no "${asked}"`, {
    details: { type: "workspace_file_not_found", path: asked },
  });

/** Directories first, then by name. */
export async function entriesInFolder({ path: folder, real }: WorkspacePlace) {
  const found = await unlessMissing(readdir(real, { withFileTypes: true }));
  if (!found) throw notThere(folder);
  const known = found.filter((entry) => entry.isFile() || entry.isDirectory());
  const rows = await Promise.all(
    known.map(async (entry) => {
      const facts = await unlessMissing(stat(join(real, entry.name)));
      const kind = entry.isDirectory() ? ("directory" as const) : ("file" as const);
      return {
        path: posix.join(folder, entry.name),
        name: entry.name,
        kind,
        ...(facts && kind === "file" && { size: facts.size }),
        ...(facts && { updatedAtMs: Math.round(facts.mtimeMs) }),
      };
    }),
  );
  return rows.toSorted((a, b) => a.kind.localeCompare(b.kind) || a.name.localeCompare(b.name));
}

export async function readPlace({ path: file, real }: WorkspacePlace) {
  const facts = await unlessMissing(stat(real));
  if (facts?.isFile() !== true) throw notThere(file);
  const image = IMAGES[extname(file).toLowerCase()];
  const most = image === undefined ? MOST_TEXT_BYTES : MOST_IMAGE_BYTES;
  const bytes = await readRegular(real, most).catch((error: unknown) => {
    throw new MethodError("INVALID_REQUEST", `"${file}" is not shown: ${error instanceof Error ? error.message : ""}`);
  });
  const about = { path: file, name: basename(file), size: bytes.length, updatedAtMs: Math.round(facts.mtimeMs) };
  if (image !== undefined)
    return { ...about, mimeType: image, encoding: "base64" as const, content: bytes.toString("base64") };
  if (bytes.includes(0)) throw new MethodError("INVALID_REQUEST", `"${file}" is neither text nor an image`);
  return { ...about, mimeType: "text/plain", encoding: "utf8" as const, content: bytes.toString("utf8") };
}
