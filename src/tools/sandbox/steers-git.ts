import { stat } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { unlessMissing } from "../../utils/missing.ts";
import { realOf } from "../../utils/real-path.ts";
import { GUARDED } from "../host/guarded.ts";

/** Files of a repository that Git obeys. */
const SETTINGS = ["config", "config.worktree", "commondir"];

/**
 * Rejects with a text for the model when a file tool of a sandboxed session would write what programs outside obey. `real` has no
 * links. The check leaves a gap where a command changes directories at the same time; what is in a repository then is found at its end.
 */
export async function mustNotSteerGit(real: string, workspace: string): Promise<void> {
  const steps = relative(await realOf(workspace), real).split(sep);
  if (!steps.includes(".git") && !GUARDED.includes(steps[0] ?? "") && !(await isOfRepository(real))) return;
  throw new Error(
    `${real} was not written: programs outside the sandbox obey it (Git, shells or editors). The user can write it.`,
  );
}

/** Settings beside a repository's `HEAD`, its hooks, or the `HEAD` that would make a repository of the directory. */
async function isOfRepository(real: string): Promise<boolean> {
  const dir = dirname(real);
  const has = async (place: string, name: string) => (await unlessMissing(stat(join(place, name)))) !== undefined;
  if (SETTINGS.includes(basename(real))) return has(dir, "HEAD");
  if (basename(real) === "HEAD") return (await Promise.all(SETTINGS.map((name) => has(dir, name)))).includes(true);
  return basename(dir) === "hooks" && has(dirname(dir), "HEAD");
}
