import { homedir } from "node:os";
import type { z } from "zod";
import { keyNames, keysOutward } from "../../sessions/shown/wire-keys.ts";
import { readStateLock } from "../../store/lock/lock.ts";
import type { Contributions } from "../../plugins/contributions.ts";
import { OpenClawError } from "../../types/errors.ts";
import { loadConfig, type LoadOptions } from "../config/load.ts";
import { resolvePaths, type StatePaths } from "../config/paths.ts";
import { configSchema, type Config } from "../config/schema/schema.ts";
import { DEFAULT_AGENT } from "../../types/ids.ts";
import { resolveAgents } from "../config/settings.ts";
import { loadOptionsFor } from "../plugins/load-options.ts";
import type { Io } from "./io.ts";

/** The state directory as a command reads it. */
export interface State {
  /** The additions of extensions and plugins. */
  readonly contributions: Contributions;
  readonly paths: StatePaths;
  readonly load: LoadOptions;
  /** All defaults if the file has a problem; a running gateway may still use the file's earlier content. */
  readonly config: Config;
  readonly problem: OpenClawError | undefined;
  /** The daemon that owns the directory; undefined when none runs. */
  readonly owner: { readonly pid: number; readonly port?: number } | undefined;
}

/** The path of the config, and the schemas that it is checked against. */
export async function loadOptions(
  io: Pick<Io, "env" | "contributions">,
): Promise<{ paths: StatePaths; load: LoadOptions }> {
  const paths = resolvePaths(io.env);
  return { paths, load: await loadOptionsFor(io.contributions, paths, io.env) };
}

/** Reads without changing anything. Throws only errors that are not `OpenClawError`s. */
export async function readState(io: Io): Promise<State> {
  const { paths, load } = await loadOptions(io);
  const lock = await readStateLock(paths.stateDir);
  const found = await readConfig(load);
  return { paths, load, contributions: io.contributions, ...found, owner: lock?.alive === true ? lock : undefined };
}

/** An answer as a gateway would give it, for a command that read the state itself. */
export function answerHere<T>(shape: z.ZodType<T>, answer: unknown, { config, paths }: State): T {
  const names = keyNames(
    () => resolveAgents(config, { home: homedir(), stateDir: paths.stateDir })[0]?.id ?? DEFAULT_AGENT,
  );
  return shape.parse(keysOutward(shape, answer, names));
}

/** The same for commands that need a valid config; throws its problem. */
export async function requireState(io: Io): Promise<State> {
  const state = await readState(io);
  if (state.problem) throw state.problem;
  return state;
}

async function readConfig(load: LoadOptions): Promise<Pick<State, "config" | "problem">> {
  try {
    const { config } = await loadConfig(load);
    return { config, problem: undefined };
  } catch (error) {
    if (!(error instanceof OpenClawError)) throw error;
    return { config: configSchema.parse({}), problem: error };
  }
}
