import type { FileOrigins } from "../../types/memory/file-origins.ts";
import type { CommandLine, ExecBackend, RunningCommand } from "../../types/run/backend.ts";
import type { ToolScene } from "../../types/run/tool.ts";
import type { UntrustedSource } from "../../types/run/untrusted.ts";

/** What is known of the run when one of its commands starts. */
export interface Knowing {
  sources(): Promise<readonly UntrustedSource[]>;
  /** Where content of others is from that a file has which the command names. */
  named(line: CommandLine): Promise<string | undefined>;
}

/** The same scene; the times in which its commands run are noted where they may write what others wrote. */
export function notingCommands(scene: ToolScene, origins: FileOrigins, knowing: Knowing): ToolScene {
  const { exec, sandboxed, elevation } = scene;
  const noted = (backend: ExecBackend) => notedBackend(backend, { scene, origins, knowing });
  return {
    ...scene,
    exec: noted(exec),
    ...(sandboxed && { sandboxed: noted(sandboxed) }),
    ...(elevation && { elevation: { ...elevation, backend: noted(elevation.backend) } }),
  };
}

interface Noting {
  readonly scene: ToolScene;
  readonly origins: FileOrigins;
  readonly knowing: Knowing;
}

const notedBackend = (backend: ExecBackend, noting: Noting): ExecBackend => ({
  ...backend,
  // Known only once the sandbox has been tried.
  get isolated() {
    return backend.isolated === true;
  },
  start: (line) => startNoted(backend, line, noting),
});

async function startNoted(backend: ExecBackend, line: CommandLine, { scene, origins, knowing }: Noting) {
  const roots = await backend.writable?.();
  const of = { roots, by: scene.acting };
  const ends = [await origins.began({ ...of, sources: await knowing.sources(), named: await knowing.named(line) })];
  const endAll = async () => {
    for (const end of ends) await end();
  };
  try {
    const running = await backend.start(line);
    return noted(running, endAll, async () => {
      ends.push(await origins.began({ ...of, sources: [] }));
    });
  } catch (error) {
    await endAll();
    throw error;
  }
}

/** The conversation may have read something since the command began, when it types into it. */
function noted(running: RunningCommand, endAll: () => Promise<void>, typing: () => Promise<void>): RunningCommand {
  return {
    ...running,
    ended: running.ended.then(async (end) => {
      // What could not be ended may write on.
      if (end.left.length === 0) await endAll();
      return end;
    }),
    async write(data) {
      await typing();
      return running.write(data);
    },
  };
}
