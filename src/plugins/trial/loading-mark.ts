import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { unlessMissing } from "../../utils/missing.ts";

/** Which plugin's code is being run. Found at a start, it says that the process before did not survive that. `process`: any text that only that process has. */
const markShape = z.object({ id: z.string(), stamp: z.string(), at: z.string(), process: z.string().optional() });
export type LoadingMark = z.output<typeof markShape>;

const markFile = (stateDir: string): string => join(stateDir, "plugins", "loading.json");

/** Not synced to the disk: it has to survive the end of a process, not that of the machine. */
export async function putMark(stateDir: string, mark: LoadingMark): Promise<void> {
  const file = markFile(stateDir);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(file, JSON.stringify(mark), { mode: 0o600 });
}

export const removeMark = (stateDir: string): Promise<void> => rm(markFile(stateDir), { force: true });

/** The mark that a process left, which is removed; undefined without one, and for one that was not written to its end. */
export async function takeMark(stateDir: string): Promise<LoadingMark | undefined> {
  const content = await unlessMissing(readFile(markFile(stateDir), "utf8"));
  if (content === undefined) return undefined;
  await removeMark(stateDir);
  return parsed(content);
}

function parsed(content: string): LoadingMark | undefined {
  try {
    return markShape.safeParse(JSON.parse(content)).data;
  } catch {
    // A mark that is cut off was being written, so no plugin ran.
    return undefined;
  }
}
