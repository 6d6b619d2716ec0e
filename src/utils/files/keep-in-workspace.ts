import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isInside, realOf } from "../real-path.ts";

/** A file that the gateway has made for an agent. */
interface MadeFile {
  /** Below the workspace, with `/`. */
  readonly folder: string;
  /** File name with the ending of its format; another part is put before it. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/**
 * Writes a file into a workspace, from which answers may attach it. Resolves with the file's path there. Rejects when a
 * link leads out of the workspace.
 */
export async function keepInWorkspace({ folder, name, bytes }: MadeFile, workspace: string): Promise<string> {
  const place = join(workspace, folder);
  await mkdir(place, { recursive: true });
  if (!isInside(await realOf(place), await realOf(workspace)))
    throw new Error(`${folder} leads out of the workspace: remove that link`);
  const path = `${folder}/${randomUUID()}-${name}`;
  await writeFile(join(workspace, path), bytes, { mode: 0o600, flag: "wx" });
  return path;
}
