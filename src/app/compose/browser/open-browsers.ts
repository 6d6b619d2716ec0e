import { join } from "node:path";
import { Browsers } from "../../../browser/browsers.ts";
import type { Playwright } from "../../../browser/profile-session.ts";
import type { Clock } from "../../../types/clock.ts";
import type { Log } from "../../../types/log.ts";
import type { StatePaths } from "../../config/paths.ts";
import { libraryStore, libraryUrl } from "../libraries.ts";
import type { Live } from "../live.ts";

/** The browsers of the current config. Starts none. */
export const openBrowsers = (live: Live, { clock, log }: { readonly clock: Clock; readonly log: Log }): Browsers =>
  new Browsers({
    clock,
    log,
    config: () => live.config.browser,
    profiles: join(live.paths.stateSub, "browser"),
    files: live.paths.media,
    env: process.env,
    load: (signal) => loadPlaywright(live.paths, log, signal),
  });

const NAME = "playwright-core";

/** The installed library (a clone has it), else the one that npm fetches: it is 14 MB that only the browser needs. */
async function loadPlaywright(paths: StatePaths, log: Log, signal: AbortSignal): Promise<Playwright> {
  try {
    return await import("playwright-core");
  } catch (error) {
    if (!isNotThere(error)) throw error;
  }
  const fetched: Playwright = await import(
    await libraryUrl(libraryStore(paths, log), { channel: "browser", name: NAME, signal })
  );
  return fetched;
}

/** Not installed, as opposed to installed and broken. */
const isNotThere = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND" && error.message.includes(NAME);
