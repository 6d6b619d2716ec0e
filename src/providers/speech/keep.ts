import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Speech } from "../../types/media/speech.ts";
import { isInside, realOf } from "../../utils/real-path.ts";

/** Below the workspace, so that answers may attach what is in it. */
const FOLDER = ".openclaw/speech";

/** Writes a speech into a workspace; gives its path there. Rejects when a link leads out of the workspace. */
export async function keepSpeech({ bytes, name }: Speech, workspace: string): Promise<string> {
  const folder = join(workspace, FOLDER);
  await mkdir(folder, { recursive: true });
  if (!isInside(await realOf(folder), await realOf(workspace)))
    throw new Error(`${FOLDER} leads out of the workspace: remove that link`);
  const path = `${FOLDER}/${randomUUID()}-${name}`;
  await writeFile(join(workspace, path), bytes, { mode: 0o600, flag: "wx" });
  return path;
}
