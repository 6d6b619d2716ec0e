import type { FileBackend } from "../../types/run/backend.ts";
import type { Risk } from "../../types/run/untrusted.ts";

/**
 * The risk of a call that changes a file which models read in every later turn, or which programs run by themselves;
 * undefined for other files.
 */
export async function promptFileRisk(
  paths: readonly string[],
  files: FileBackend,
  workspace: string,
): Promise<Risk | undefined> {
  const shaping = await Promise.all(paths.map((path) => isShaping(path, files, workspace)));
  const names = paths.filter((_, at) => shaping[at]);
  return names.length === 0
    ? undefined
    : { use: "prompt-files", what: `changes ${names.join(", ")}, which shapes later turns` };
}

async function isShaping(path: string, files: FileBackend, workspace: string): Promise<boolean> {
  try {
    return await files.shapesTurns(path, workspace);
  } catch {
    // The call itself is refused for the same reason.
    return false;
  }
}
