import { randomUUID } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Backends, ExecBackend } from "../../types/run/backend.ts";
import type { AgentSettings, ExecSettings } from "../../types/settings.ts";
import { FileAccess, type GuestRules } from "./access.ts";
import { addable, commandEnvironment } from "./environment.ts";
import { HostFiles } from "./files.ts";
import { bindFiles, pathDirs } from "./named-files.ts";
import { runCommand } from "./run-command.ts";

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
}

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
  return { files: new HostFiles(access), exec: hostExec(settings.exec, anywhere, outputDir) };
}

function hostExec(settings: ExecSettings, access: FileAccess, outputDir: string): ExecBackend {
  return {
    async directory(path, workspace) {
      const cwd = await access.locate(path, workspace, "read");
      if (!(await stat(cwd)).isDirectory()) throw new Error(`${path} is not a directory.`);
      return cwd;
    },
    filesOf: (command, place) =>
      bindFiles(command, { ...place, path: [...settings.pathPrepend, ...pathDirs(process.env["PATH"])] }),
    run: (line) =>
      runCommand({
        ...line,
        env: { ...addable(line.env), ...commandEnvironment(process.env, settings) },
        outputFile: join(outputDir, `${randomUUID()}.log`),
      }),
  };
}
