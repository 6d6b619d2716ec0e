import { chmod, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { lockPath } from "../../store/lock/lock.ts";
import { OpenClawError } from "../../types/errors.ts";
import { makeDirectory } from "../../store/make-directory.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { expandHome, type Env } from "../../utils/env.ts";

/** Places of the gateway's files, as absolute paths. */
export interface StatePaths {
  readonly stateDir: string;
  readonly configPath: string;
  readonly sessionsDir: string;
  /** `state/`, with the journal. */
  readonly stateSub: string;
  readonly credentials: string;
  readonly workspace: string;
  readonly extensions: string;
  /** Hook folders of the operator. */
  readonly hooks: string;
  readonly skills: string;
  readonly media: string;
  readonly logs: string;
  readonly lockFile: string;
}

export const journalPath = ({ stateSub }: Pick<StatePaths, "stateSub">): string => join(stateSub, "journal.sqlite");

/** The cooldowns of keys that were refused or limited. */
export const cooldownsPath = ({ stateSub }: Pick<StatePaths, "stateSub">): string => join(stateSub, "auth-rests.json");

/**
 * The paths of the environment: the state directory is `OPENCLAW_STATE_DIR`, else `~/.openclaw`; the config is
 * `OPENCLAW_CONFIG_PATH`, else `openclaw.json` in that directory. Touches nothing.
 */
export function resolvePaths(env: Env): StatePaths {
  const home = env["HOME"] ?? homedir();
  const stateDir = resolve(expandHome(env["OPENCLAW_STATE_DIR"] || join(home, ".openclaw"), env));
  const configPath = resolve(expandHome(env["OPENCLAW_CONFIG_PATH"] || join(stateDir, "openclaw.json"), env));
  const below = (name: string) => join(stateDir, name);
  return {
    stateDir,
    configPath,
    sessionsDir: below("sessions"),
    stateSub: below("state"),
    credentials: below("credentials"),
    workspace: below("workspace"),
    extensions: below("extensions"),
    hooks: below("hooks"),
    skills: below("skills"),
    media: below("media"),
    logs: below("logs"),
    lockFile: lockPath(stateDir),
  };
}

/**
 * Creates the directories with mode 0700; existing ones keep their mode. Throws `STATE_UNWRITABLE`, and
 * `STATE_PERMISSIONS` when everybody on the machine may write the files that decide about commands and secrets.
 */
export async function makeStateDirs(paths: StatePaths): Promise<void> {
  const { stateDir, lockFile, configPath, ...others } = paths;
  await refuseOpen([stateDir, paths.credentials, paths.stateSub, paths.extensions, paths.hooks, configPath]);
  try {
    for (const dir of new Set([stateDir, ...Object.values(others), dirname(lockFile), dirname(configPath)])) {
      // A umask may have removed more permissions than `makeDirectory` intended.
      if (await makeDirectory(dir)) await chmod(dir, 0o700);
    }
  } catch (error) {
    const reason = errorText(error);
    throw new OpenClawError("STATE_UNWRITABLE", {
      message: `The state directory ${stateDir} cannot be written: ${reason}`,
      fix: "Make it writable for this user, or set OPENCLAW_STATE_DIR to a directory that is.",
      cause: error,
    });
  }
}

async function refuseOpen(places: readonly string[]): Promise<void> {
  if (process.platform === "win32") return;
  for (const place of places) {
    // A missing or unreadable path is reported by the code that needs it.
    const mode = (await stat(place).catch(() => undefined))?.mode ?? 0;
    if ((mode & 0o002) === 0) continue;
    throw new OpenClawError("STATE_PERMISSIONS", {
      message: `Everybody on this machine may change ${place} (mode ${(mode & 0o777).toString(8)}).`,
      fix: `Look whether somebody did, then run: chmod o-w ${place}`,
    });
  }
}
