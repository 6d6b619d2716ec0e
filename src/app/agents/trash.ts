import { lstat, rename } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, join, parse } from "node:path";
import { makePrivateDir } from "../../store/disk.ts";
import { errorCode, unlessMissing } from "../../utils/missing.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import { errorText } from "../../utils/text/error-text.ts";

/** What became of the folders of a removed agent, in the protocol's names. */
export interface Trashed {
  readonly removed: { readonly path: string; readonly method: "trash" | "missing" }[];
  readonly failed: { readonly path: string; readonly reason: string }[];
}

interface Keep {
  readonly stateDir: string;
  /** Workspaces of the other agents. */
  readonly others: readonly string[];
  readonly now: number;
}

/**
 * Moves folders into `trash/` of the state directory, from where a person can take them back; nothing is erased. A folder that other
 * things lie in stays: the state directory, the home directory, and the workspaces of other agents. Never throws.
 */
export async function moveToTrash(folders: readonly string[], keep: Keep): Promise<Trashed> {
  const done: Trashed = { removed: [], failed: [] };
  for (const path of new Set(folders)) {
    try {
      const reason = await whyKept(path, keep);
      if (reason !== undefined) done.failed.push({ path, reason });
      else done.removed.push({ path, method: await move(path, keep) });
    } catch (error) {
      done.failed.push({ path, reason: whyNotMoved(error) });
    }
  }
  return done;
}

async function whyKept(path: string, { stateDir, others }: Keep): Promise<string | undefined> {
  const [real, state, home, ...used] = await Promise.all([path, stateDir, homedir(), ...others].map(realOf));
  if (real === undefined || real === parse(real).root) return "it is the root of a disk";
  if (state !== undefined && isInside(state, real)) return "the state of the gateway is in it";
  if (home !== undefined && isInside(home, real)) return "the home directory is in it";
  if (used.some((one) => isInside(one, real) || isInside(real, one))) return "another agent works there";
  return undefined;
}

async function move(path: string, { stateDir, now }: Keep): Promise<"trash" | "missing"> {
  if ((await unlessMissing(lstat(path))) === undefined) return "missing";
  const trash = join(stateDir, "trash");
  await makePrivateDir(trash);
  const name = `${new Date(now).toISOString().replaceAll(/[:.]/g, "-")}-${basename(path)}`;
  await rename(path, join(trash, name));
  return "trash";
}

const whyNotMoved = (error: unknown): string =>
  errorCode(error) === "EXDEV" ? "it is on another disk than the state directory" : errorText(error);
