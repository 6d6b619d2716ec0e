import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { homedir } from "node:os";
import { acquireStateLock } from "../../../../store/lock/lock.ts";
import { sentences, type OpenClawError } from "../../../../types/errors.ts";
import type { AgentSettings } from "../../../../types/settings.ts";
import type { Edit } from "../../../agents/agent-file.ts";
import { writeConfigValues } from "../../../config/edit/write.ts";
import { journalPath } from "../../../config/paths.ts";
import { ConfigError } from "../../../config/schema/problem.ts";
import { configSchema } from "../../../config/schema/schema.ts";
import { resolveAgents } from "../../../config/settings.ts";
import { readConfigSource } from "../../../config/source.ts";
import { installedRoot } from "../../../package-root.ts";
import type { Io } from "../../io.ts";
import { refuseWide } from "../../removal.ts";
import { readState, type State } from "../../state.ts";

/** What a step of the set-up works on: the state directory, and its config as the file has it. */
export interface SetupScene {
  readonly io: Io;
  readonly state: State;
  /** The config file without its secrets resolved; `{}` when there is none. */
  readonly file: unknown;
  readonly hasConfig: boolean;
}

/** Reads the state directory. Throws the config's problem, with the doctor as its fix: set-up changes no config that has one. */
export async function openScene(io: Io): Promise<SetupScene> {
  const state = await readState(io);
  if (state.problem) throw refusal(state.problem);
  const { value, text } = await readConfigSource(state.load);
  return { io, state, file: value, hasConfig: text !== undefined };
}

function refusal(problem: OpenClawError): OpenClawError {
  return new ConfigError(problem.code, {
    message: problem.message,
    fix: sentences(problem.fix, "Until then nothing is set up. More: openclaw doctor"),
    problems: problem instanceof ConfigError ? problem.problems : [],
    cause: problem,
  });
}

/** The same state directory as if it had no config yet. */
export const withoutConfig = (scene: SetupScene): SetupScene => ({
  ...scene,
  state: { ...scene.state, config: configSchema.parse({}) },
  file: {},
  hasConfig: false,
});

/** The agents of the config, the one that answers when nothing else is said first. */
export const setupAgents = ({ io, state }: Pick<SetupScene, "io" | "state">): readonly AgentSettings[] =>
  resolveAgents(state.config, { home: io.env["HOME"] ?? homedir(), stateDir: state.paths.stateDir });

/** The agent that answers when nothing else is said. */
export function mainAgent(scene: Pick<SetupScene, "io" | "state">): AgentSettings {
  const [agent] = setupAgents(scene);
  if (!agent) throw new Error("a config without agents");
  return agent;
}

/** Writes values of a step in one step, or none. Throws as `writeConfigValues` does. */
export async function writeEdits({ state }: Pick<SetupScene, "state">, edits: readonly Edit[]): Promise<void> {
  if (edits.length > 0) await writeConfigValues(state.load, edits);
}

export const RESET_SCOPES = ["config", "config+creds+sessions", "full"] as const;
export type ResetScope = (typeof RESET_SCOPES)[number];

/** Files that were set aside, and where they are now. */
export type Moved = readonly { readonly from: string; readonly to: string }[];

/**
 * Sets the config aside, and with wider scopes the keys, the conversations and the workspaces. Nothing is deleted: each file gets a
 * name that ends with `.bak`. Throws STATE_LOCKED when a gateway runs and more than the config is to go, and USAGE for a workspace that has
 * more in it than a workspace, such as a home directory. Whatever it throws, everything is where it was.
 */
export async function resetState(scene: SetupScene, scope: ResetScope, now = new Date()): Promise<Moved> {
  const { paths } = scene.state;
  if (scope === "config") return setAside([paths.configPath], now);
  const lock = await acquireStateLock(paths.stateDir);
  try {
    const journal = journalPath(paths);
    const workspaces = scope === "full" ? setupAgents(scene).map(({ workspace }) => workspace) : [];
    const others = [scene.io.env["HOME"] ?? homedir(), installedRoot(), paths.stateDir];
    for (const workspace of workspaces) await refuseWide(workspace, others);
    return await setAside(
      [
        paths.configPath,
        paths.credentials,
        paths.sessionsDir,
        ...["", "-wal", "-shm"].map((end) => `${journal}${end}`),
        ...new Set(workspaces),
      ],
      now,
    );
  } finally {
    await lock.release();
  }
}

async function setAside(paths: readonly string[], now: Date): Promise<Moved> {
  const stamp = now.toISOString().replaceAll(/[:.]/g, "-");
  const moved: { from: string; to: string }[] = [];
  try {
    for (const from of paths.filter((path) => existsSync(path))) {
      const to = `${from}.${stamp}.bak`;
      await rename(from, to);
      moved.push({ from, to });
    }
  } catch (error) {
    await undoReset(moved);
    throw error;
  }
  return moved;
}

/** Puts back what `resetState` has set aside. */
export async function undoReset(moved: Moved): Promise<void> {
  for (const { from, to } of moved) if (!existsSync(from)) await rename(to, from);
}
