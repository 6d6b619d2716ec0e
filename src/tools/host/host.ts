import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type {
  Backends,
  CommandEnd,
  ExecBackend,
  FileBackend,
  Launcher,
  PreparedLaunch,
  RunningCommand,
} from "../../types/run/backend.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { AgentSettings, ExecSettings } from "../../types/settings.ts";
import { FileAccess, type GuestRules } from "./access.ts";
import { commandEnvironment, withAdded } from "./environment.ts";
import { HostFiles } from "./files.ts";
import { outputPath } from "./command/kept-outputs.ts";
import { newMark } from "./command/left-running.ts";
import { findProgram } from "./find-program.ts";
import { bindFiles, pathDirs } from "./repository/named-files.ts";
import { outputFolder, outputRoot } from "./output-folders.ts";
import { steeringOf } from "./repository/steering.ts";
import { shellArgv, startCommand, type HostCommand } from "./command/start-command.ts";
import { fileNamesIn } from "../exec/exec-names.ts";
import { isInside, realOf } from "../../utils/real-path.ts";

export interface HostOptions {
  readonly settings: Pick<AgentSettings, "workspace" | "tools" | "exec" | "media">;
  /** The rights of the turn: an owner's, or a guest's with limits. */
  readonly rights: "owner" | GuestRules;
  /** Absolute paths of the gateway that no file tool may touch. */
  readonly deniedPaths: readonly string[];
  /** Absolute directories outside the workspace that may be read: received media, skills, docs. */
  readonly readablePaths?: readonly string[];
  /** The session whose long results are kept, and which alone reads them; one folder for all sessions when unset. */
  readonly sessionKey?: SessionKey;
  /** Prepares the start of each process; processes are started without preparation when unset. */
  readonly launcher?: Launcher;
  /** The gateway's state directory: its next process ends the commands that this one could not end. */
  readonly stateDir?: string;
}

const AS_THEY_ARE: Launcher = { prepare: (launch) => Promise.resolve(launch) };

/** The backends that reach the gateway's own machine. */
export function hostBackends(options: HostOptions): Backends {
  const rules = rulesOf(options);
  return { files: hostFiles(options, rules), exec: hostExec(options, rules) };
}

/** Files of the gateway's own machine. */
export const hostFiles = (options: HostOptions, rules = rulesOf(options)): FileBackend =>
  new HostFiles(new FileAccess({ ...rules, workspaceOnly: options.settings.tools.workspaceOnly }), rules.outputs.own);

/** The access rules. A command may start outside the workspace, but never in a directory of the gateway. */
function rulesOf({ settings, sessionKey, rights, deniedPaths, readablePaths = [] }: HostOptions) {
  const root = outputRoot(settings.workspace);
  const own = sessionKey === undefined ? root : outputFolder(settings.workspace, sessionKey);
  return {
    workspaceOnly: false,
    denied: deniedPaths,
    readable: [...readablePaths, own],
    outputs: { root, own },
    ...(rights !== "owner" && { guest: rights }),
  };
}

/** Commands on the gateway's own machine. */
export function hostExec(options: HostOptions, rules = rulesOf(options)): ExecBackend {
  const { launcher = AS_THEY_ARE, stateDir } = options;
  const settings = options.settings.exec;
  const outputDir = rules.outputs.own;
  const access = new FileAccess(rules);
  return {
    async directory(path, workspace) {
      const cwd = await access.locate(path, workspace, "read");
      if (!(await stat(cwd)).isDirectory()) throw new Error(`${path} is not a directory.`);
      return cwd;
    },
    whyClosed: (command, place) => whyClosed(command, { cwd: place.cwd, stateDir }),
    filesOf: (command, place) => bindFiles(command, { ...place, path: pathOf(settings) }),
    programOf: (word, place) => findProgram(word, { ...place, path: pathOf(settings) }),
    steeringOf: (command, place) => steeringOf(command, place.cwd),
    async start({ command, argv, cwd, env, input, timeoutMs }) {
      const launch = await launcher.prepare({
        argv: argv ?? shellArgv(command),
        cwd,
        env: withAdded(commandEnvironment(process.env, settings), env),
      });
      const outputFile = outputPath(outputDir);
      return startPrepared({ launch, input, timeoutMs, mark: newMark(stateDir), outputFile }, launch);
    },
  };
}

async function startPrepared(command: HostCommand, { ended, processes }: PreparedLaunch): Promise<RunningCommand> {
  try {
    const running = await startCommand(command);
    return {
      ...running,
      ...(processes && { processes }),
      ...(ended && { ended: settled(running.ended, ended) }),
    };
  } catch (error) {
    await ended?.();
    throw error;
  }
}

/** The end of a command, after the removal of its preparations. */
async function settled(
  ended: RunningCommand["ended"],
  settle: NonNullable<PreparedLaunch["ended"]>,
): Promise<CommandEnd> {
  const end = await ended;
  const note = await settle(end);
  return note === undefined ? end : { ...end, note };
}

const pathOf = ({ pathPrepend }: ExecSettings): readonly string[] => [...pathPrepend, ...pathDirs(process.env["PATH"])];

/**
 * Reason why a command may not run: it names the databases of a running gateway, which another program could damage.
 * Undefined when it names none. The check is no barrier: a program may open files that its words do not name. Never
 * rejects.
 */
async function whyClosed(
  command: string,
  { cwd, stateDir }: { readonly cwd: string; readonly stateDir: string | undefined },
): Promise<string | undefined> {
  if (stateDir === undefined) return undefined;
  const own = join(await realOf(stateDir), "state");
  const paths = fileNamesIn(command, { home: homedir(), cwd }).map((name) => resolve(cwd, name));
  const real = await Promise.all(paths.map((path) => realOf(path).catch(() => path)));
  return [...paths, ...real].some((path) => isInside(path, own))
    ? `it names files in ${own}, which the gateway has open; openclaw runs, sessions and usage read them`
    : undefined;
}
