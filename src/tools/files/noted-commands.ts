import type { FileOrigins, NotedCommand } from "../../types/memory/file-origins.ts";
import type { CommandLine, ExecBackend, RunningCommand, Typist } from "../../types/run/backend.ts";
import type { ToolScene } from "../../types/run/tool.ts";
import type { UntrustedSource } from "../../types/run/untrusted.ts";

/** Facts about the run when one of its commands starts. */
export interface Knowing {
  sources(): Promise<readonly UntrustedSource[]>;
  /** Source of untrusted content in a file that the command names; undefined when no such file has any. */
  named(line: CommandLine): Promise<string | undefined>;
}

/**
 * The same scene, in which the time of each command is noted, because a command may write untrusted content to files.
 */
export function notingCommands(scene: ToolScene, origins: FileOrigins, knowing: Knowing): ToolScene {
  const { exec, sandboxed, elevation } = scene;
  const noted = (backend: ExecBackend) => notedBackend(backend, { scene, origins, knowing });
  return {
    ...scene,
    exec: noted(exec),
    ...(sandboxed && { sandboxed: () => noted(sandboxed()) }),
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
  start: (line) => startNoted(backend, line, noting),
});

async function startNoted(backend: ExecBackend, line: CommandLine, { scene, origins, knowing }: Noting) {
  const roots = await backend.writable?.();
  const of = { roots, by: scene.acting };
  const begun = [await origins.began({ ...of, sources: await knowing.sources(), named: await knowing.named(line) })];
  try {
    const running = await backend.start(line);
    return noted(running, begun, async (typist) => {
      begun.push(await origins.began({ ...of, sources: [], ...typist }));
    });
  } catch (error) {
    await endAll(begun);
    throw error;
  }
}

async function endAll(begun: readonly NotedCommand[]): Promise<void> {
  for (const one of begun) await one.end();
}

/**
 * The same command. Input is noted too: its author may have read something since the command began, and may be another
 * conversation.
 */
function noted(
  running: RunningCommand,
  begun: readonly NotedCommand[],
  typing: (typist: Typist | undefined) => Promise<void>,
): RunningCommand {
  return {
    ...running,
    ended: running.ended.then(async (end) => {
      // A process that could not be ended may go on to write.
      if (end.left.length === 0) await endAll(begun);
      return end;
    }),
    async write(data, typist) {
      await typing(typist);
      return running.write(data);
    },
    source(reader) {
      for (const one of begun) {
        const source = one.source(reader);
        if (source !== undefined) return source;
      }
      return undefined;
    },
  };
}
