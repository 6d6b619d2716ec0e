import { access } from "node:fs/promises";
import { OpenClawError, withFix } from "../../../../types/errors.ts";
import type { EndedImport, FoundState } from "../../../../types/answers/import.ts";
import type { Log } from "../../../../types/log.ts";
import { noteImportEnd, takeImportWish, type MovingIn } from "../../../gateway/import/moving-in.ts";
import { serviceNotes } from "../../../gateway/lifecycle/notify.ts";
import type { ImportReport } from "../../../import/import.ts";
import { resolvePaths } from "../../../config/paths.ts";
import type { Io } from "../../io.ts";
import { loadOptions } from "../../state.ts";

/** The offer of an import to clients of the gateway. The code of imports is loaded by the first who asks. */
export const movingIn = (io: Pick<Io, "env" | "contributions">): MovingIn => ({
  async look() {
    const report = await planned(io).catch((error: unknown) => {
      if (error instanceof OpenClawError && (error.code === "NOT_FOUND" || error.code === "USAGE")) return undefined;
      throw error;
    });
    if (!report) return undefined;
    const found = shownReport(report);
    return found.kinds.some(({ fresh }) => fresh > 0) ? found : undefined;
  },
});

async function planned(io: Pick<Io, "env" | "contributions">): Promise<ImportReport> {
  const { paths, load } = await loadOptions(io);
  const { importState } = await import("../../../import/import.ts");
  return importState({ from: undefined, paths, load, env: io.env, dryRun: "for-gateway", onProgress: () => undefined });
}

function shownReport({ source, warnings, unread, kinds }: ImportReport): FoundState {
  return {
    dir: source,
    warnings: [...warnings, ...unread],
    kinds: kinds.map(({ kind, title, items, left }) => {
      const count = (...states: readonly string[]) => items.filter(({ state }) => states.includes(state)).length;
      return {
        kind,
        title,
        fresh: count("new"),
        taken: count("taken", "there"),
        left: left.length + count("left"),
        failed: count("failed"),
      };
    }),
  };
}

/**
 * Takes over what a client has asked for, before the gateway opens its state. A failure is kept for the client, and the gateway starts
 * as it would have.
 */
export async function doWishedImport(io: Io): Promise<void> {
  const dir = await takeImportWish(resolvePaths(io.env));
  if (dir === undefined) return;
  const { paths, load } = await loadOptions(io);
  const log = terse(io);
  // The service manager must not take a long import for a hang.
  const notes = serviceNotes(process.env, log);
  notes.ready(`Importing ${dir}`);
  log.info(`importing ${dir}`);
  const end = await imported(io, dir, { paths, load });
  notes.close();
  log.info(end.error === undefined ? `imported ${dir}` : `${dir} was not imported: ${end.error}`);
  await noteImportEnd(paths, end).catch((error: unknown) =>
    log.warn(`the end of the import is not kept: ${String(error)}`),
  );
}

async function imported(
  io: Io,
  dir: string,
  { paths, load }: Pick<Awaited<ReturnType<typeof loadOptions>>, "paths" | "load">,
): Promise<EndedImport> {
  const at = Date.now();
  try {
    await access(dir);
    const { importState } = await import("../../../import/import.ts");
    const report = await importState({
      from: dir,
      paths,
      load,
      env: io.env,
      dryRun: false,
      onProgress: () => undefined,
    });
    return { ...shownReport(report), at, channelsOff: report.channelsOff };
  } catch (error) {
    return { dir, at, error: withFix(error), warnings: [], kinds: [], channelsOff: false };
  }
}

/** Lines on standard error: the log of the gateway is not open yet. */
function terse(io: Io): Log {
  const tell = (message: string): void => io.err(`${message}\n`);
  const log: Log = { debug: () => undefined, info: tell, warn: tell, error: tell, with: () => log };
  return log;
}
