import { lstat, readdir, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, parse } from "node:path";
import type { AgentDeleted } from "../../types/answers/agents.ts";
import type { AgentSettings } from "../../types/settings.ts";
import { makePrivateDir } from "../../store/disk.ts";
import { errorCode, unlessMissing } from "../../utils/missing.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import { errorText } from "../../utils/text/error-text.ts";

export type Trashed = Pick<AgentDeleted, "removed" | "failed">;

type AgentPlaces = Pick<AgentSettings, "id" | "workspace" | "agentDir">;

interface Keep {
  readonly stateDir: string;
  /** The agents; the folders of all but the removed one stay. */
  readonly others: readonly AgentPlaces[];
  readonly now: number;
}

/** Moves the workspace of a removed agent, and the directory of its keys when it has one, as `moveToTrash` does. */
export async function trashAgent(agent: AgentPlaces, { stateDir, others, now }: Keep): Promise<Trashed> {
  const used = others.flatMap(({ id, workspace, agentDir = workspace }) =>
    id === agent.id ? [] : [workspace, agentDir],
  );
  const { agentDir } = agent;
  const hasKeys = agentDir !== undefined && (await unlessMissing(lstat(agentDir))) !== undefined;
  return moveToTrash([agent.workspace, ...(hasKeys ? [keysFolder(agentDir, stateDir)] : [])], {
    stateDir,
    used,
    now,
  });
}

/** The folder to move for an agent's keys: `agents/<id>/agent` is alone in its parent folder, which goes with it. */
function keysFolder(agentDir: string, stateDir: string): string {
  const parent = dirname(agentDir);
  return dirname(parent) === join(stateDir, "agents") ? parent : agentDir;
}

interface Places {
  readonly stateDir: string;
  /** Folders of the other agents. */
  readonly used: readonly string[];
  readonly now: number;
}

/**
 * Moves folders into `trash/` of the state directory, from where a person can take them back until `emptyTrash` erases them. A
 * folder stays when it contains the state directory or the home directory, and when the workspace of another agent lies
 * in it or around it. Never rejects.
 */
async function moveToTrash(folders: readonly string[], keep: Places): Promise<Trashed> {
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

async function whyKept(path: string, places: Places): Promise<string | undefined> {
  const { stateDir } = places;
  const [real, state, home, ...used] = await Promise.all([path, stateDir, homedir(), ...places.used].map(realOf));
  if (real === undefined || real === parse(real).root) return "it is the root of a disk";
  if (state !== undefined && isInside(state, real)) return "the state of the gateway is in it";
  if (home !== undefined && isInside(home, real)) return "the home directory is in it";
  if (used.some((one) => isInside(one, real) || isInside(real, one))) return "another agent works there";
  return undefined;
}

async function move(path: string, { stateDir, now }: Places): Promise<"trash" | "missing"> {
  if ((await unlessMissing(lstat(path))) === undefined) return "missing";
  const trash = join(stateDir, "trash");
  await makePrivateDir(trash);
  const name = `${new Date(now).toISOString().replaceAll(/[:.]/g, "-")}-${basename(path)}`;
  await rename(path, join(trash, name));
  return "trash";
}

const whyNotMoved = (error: unknown): string =>
  errorCode(error) === "EXDEV" ? "it is on another disk than the state directory" : errorText(error);

/** The time of a folder's name in the trash. */
const MOVED_AT = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z-/;

/** Erases what has been in the trash for so many days, and resolves with how much it was. Files that a person put there stay. */
export async function emptyTrash(stateDir: string, days: number, now: number): Promise<number> {
  const trash = join(stateDir, "trash");
  const old = ((await unlessMissing(readdir(trash))) ?? []).filter((name) => {
    const [, day, hour, minute, second, ms] = MOVED_AT.exec(name) ?? [];
    return day !== undefined && Date.parse(`${day}T${hour}:${minute}:${second}.${ms}Z`) < now - days * DAY_MS;
  });
  for (const name of old) await rm(join(trash, name), { recursive: true, force: true });
  return old.length;
}

const DAY_MS = 86_400_000;
