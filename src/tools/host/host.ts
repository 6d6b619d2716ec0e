import { randomUUID } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Backends, ExecBackend, Launcher } from "../../types/run/backend.ts";
import type { AgentSettings, ExecSettings } from "../../types/settings.ts";
import { FileAccess, type GuestRules } from "./access.ts";
import { addable, commandEnvironment } from "./environment.ts";
import { HostFiles } from "./files.ts";
import { findProgram } from "./find-program.ts";
import { bindFiles, pathDirs } from "./named-files.ts";
import { runCommand, shellArgv } from "./run-command.ts";

export interface HostOptions {
  readonly settings: Pick<AgentSettings, "workspace" | "tools" | "exec">;
  /** The rights of the turn: an owner's, or a guest's with limits. */
  readonly rights: "owner" | GuestRules;
  /** Absolute paths of the gateway that no file tool may touch. */
  readonly deniedPaths: readonly string[];
  /** Absolute directories outside the workspace that may be read: received media, skills, docs. */
  readonly readablePaths?: readonly string[];
  /** Where long command outputs are kept; a hidden directory of the workspace when unset. */
  readonly outputDir?: string;
  /** How processes are started; as they are when unset. */
  readonly launcher?: Launcher;
}

const AS_THEY_ARE: Launcher = { prepare: (launch) => Promise.resolve(launch) };

/** The backends that reach the gateway's own machine. */
export function hostBackends(options: HostOptions): Backends {
  const { settings, rights, deniedPaths, readablePaths = [] } = options;
  const outputDir = options.outputDir ?? join(settings.workspace, ".openclaw", "output");
  const shared = {
    denied: deniedPaths,
    readable: [...readablePaths, outputDir],
    ...(rights !== "owner" && { guest: rights }),
  };
  const access = new FileAccess({ ...shared, workspaceOnly: settings.tools.workspaceOnly });
  // A command may start outside the workspace, but never in a directory of the gateway.
  const anywhere = new FileAccess({ ...shared, workspaceOnly: false });
  const exec = hostExec(settings.exec, { access: anywhere, outputDir, launcher: options.launcher ?? AS_THEY_ARE });
  return { files: new HostFiles(access), exec };
}

interface ExecPlace {
  readonly access: FileAccess;
  readonly outputDir: string;
  readonly launcher: Launcher;
}

function hostExec(settings: ExecSettings, { access, outputDir, launcher }: ExecPlace): ExecBackend {
  return {
    async directory(path, workspace) {
      const cwd = await access.locate(path, workspace, "read");
      if (!(await stat(cwd)).isDirectory()) throw new Error(`${path} is not a directory.`);
      return cwd;
    },
    filesOf: (command, place) => bindFiles(command, { ...place, path: pathOf(settings) }),
    programOf: (word, place) => findProgram(word, { ...place, path: pathOf(settings) }),
    async run({ command, argv, cwd, env, ...line }) {
      const launch = await launcher.prepare({
        argv: argv ?? shellArgv(command),
        cwd,
        env: { ...addable(env), ...commandEnvironment(process.env, settings) },
      });
      return runCommand({ ...line, launch, outputFile: join(outputDir, `${randomUUID()}.log`) });
    },
  };
}

const pathOf = ({ pathPrepend }: ExecSettings): readonly string[] => [...pathPrepend, ...pathDirs(process.env["PATH"])];
