import { mkdir, realpath, writeFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { SpawnFile } from "../../types/subagent/spawn.ts";
import { errorText } from "../../utils/text/error-text.ts";
import type { SpawnFileLimits } from "./rules.ts";

/** The files of a subagent, or why it cannot have them. */
export type WrittenFiles = { readonly folder: string; readonly names: readonly string[] } | string;

const NAME = /^(?!\.{1,2}$)[^/\\\0\p{Cc}]{1,120}$/u;

/** Writes files into a folder of a workspace that did not exist before. */
export async function writeFiles(
  files: readonly SpawnFile[],
  { workspace, folder }: { readonly workspace: string; readonly folder: string },
  limits: SpawnFileLimits,
): Promise<WrittenFiles> {
  const bytes = files.map(({ content, encoding }) => Buffer.from(content, encoding ?? "utf8"));
  const why = whyNot(files, bytes, limits);
  if (why !== undefined) return why;
  try {
    const place = await newFolder(workspace, folder);
    if (place === undefined) return `The folder ${folder} is not inside the workspace, or exists already.`;
    for (const [at, { name }] of files.entries())
      await writeFile(join(place, name), bytes[at] ?? "", { flag: "wx", mode: 0o600 });
  } catch (error) {
    return `The files could not be written: ${errorText(error)}`;
  }
  return { folder, names: files.map(({ name }) => name) };
}

function whyNot(
  files: readonly SpawnFile[],
  bytes: readonly Buffer[],
  { enabled, maxFiles, maxFileBytes, maxTotalBytes }: SpawnFileLimits,
): string | undefined {
  if (!enabled) return "Files for subagents are off (tools.sessions_spawn.attachments.enabled).";
  if (files.length > maxFiles) return `At most ${maxFiles} files (tools.sessions_spawn.attachments.maxFiles).`;
  const bad = files.find(({ name }) => !NAME.test(name));
  if (bad) return `"${bad.name}" is no name of a file: write one without a path.`;
  if (new Set(files.map(({ name }) => name)).size < files.length) return "Two files have the same name.";
  const long = files.find((_, at) => (bytes[at]?.length ?? 0) > maxFileBytes);
  if (long) return `${long.name} has more than ${maxFileBytes} bytes (tools.sessions_spawn.attachments.maxFileBytes).`;
  const total = bytes.reduce((sum, { length }) => sum + length, 0);
  return total > maxTotalBytes
    ? `Together the files have more than ${maxTotalBytes} bytes (tools.sessions_spawn.attachments.maxTotalBytes).`
    : undefined;
}

/** Undefined when a link leads out of the workspace, or when the folder is there already. */
async function newFolder(workspace: string, folder: string): Promise<string | undefined> {
  await mkdir(workspace, { recursive: true });
  const root = await realpath(workspace);
  const parts = relative(".", folder).split(sep);
  if (parts.includes("..")) return undefined;
  let at = root;
  for (const [index, part] of parts.entries()) {
    const next = join(at, part);
    const made = await mkdir(next).then(
      () => true,
      () => false,
    );
    if (index === parts.length - 1 && !made) return undefined;
    at = await realpath(next);
    if (at !== root && !at.startsWith(root + sep)) return undefined;
  }
  return at === root ? undefined : at;
}
