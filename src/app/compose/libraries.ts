import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";
import type { LibraryRequest } from "../../channels/ports.ts";
import type { ChannelLog } from "../../types/chat/channel.ts";
import { OpenClawError } from "../../types/errors.ts";
import { isMissing } from "../../utils/missing.ts";
import { findNpm, npmEnv, npmErrorText, type Program } from "../../utils/npm.ts";
import { shorten } from "../../utils/text/shorten.ts";
import type { StatePaths } from "../config/paths.ts";
import { packageRoot } from "../package-root.ts";

/** The folders of the libraries and locks, the program that fetches libraries, and the log. */
export interface LibraryStore {
  /** The folder with one folder per library. */
  readonly folder: string;
  /** The folder with `<channel>.package-lock.json`. */
  readonly locks: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The program, and the arguments before npm's own. */
  readonly npm: Program;
  readonly log: Pick<ChannelLog, "info">;
}

/** Most milliseconds of one fetch: less than the five minutes without a report after which a channel is restarted. */
const FETCH_WITHIN_MS = 4 * 60_000;
const DRAFT_KEPT_MS = 3_600_000;
const MOST_OUTPUT = 10 * 1_048_576;

/** The user of a library, in words: a channel, or the browser tool, whose library is named like a channel's. */
const needing = (channel: string): string => (channel === "browser" ? "the browser tool" : `the channel ${channel}`);

/** The gateway's store: `state/libraries/`, and the locks that come with the package. */
export const libraryStore = ({ stateSub }: Pick<StatePaths, "stateSub">, log: LibraryStore["log"]): LibraryStore => ({
  folder: join(stateSub, "libraries"),
  locks: join(packageRoot, "dist", "libraries"),
  env: process.env,
  npm: findNpm(),
  log,
});

/**
 * The URL of a library's entry point, for `import()`. A library that is not installed yet is fetched by npm with its
 * dependencies, in the versions and with the hashes of the lock; no install script runs. Throws `CHANNEL_CONFIG` where
 * this release has no lock for the channel, the machine has no npm or the library's folder is incomplete, and
 * `CHANNEL_LIBRARY` when the library could not be fetched.
 */
export async function libraryUrl(store: LibraryStore, wish: LibraryRequest): Promise<string> {
  const lock = await lockOf(store, wish);
  const id = createHash("sha256").update(lock).digest("hex").slice(0, 16);
  const place = join(store.folder, `${wish.channel}-${id}`);
  if (!existsSync(place)) await fetchLibrary(store, wish, { lock, place });
  try {
    return pathToFileURL(createRequire(join(place, "package.json")).resolve(wish.name)).href;
  } catch (cause) {
    throw new OpenClawError("CHANNEL_CONFIG", {
      message: `The folder ${place} does not have the whole of ${wish.name}.`,
      fix: "Remove the folder and start the gateway again: the library is fetched anew.",
      cause,
    });
  }
}

async function lockOf({ locks }: LibraryStore, { channel, name }: LibraryRequest): Promise<string> {
  try {
    return await readFile(join(locks, `${channel}.package-lock.json`), "utf8");
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
    throw new OpenClawError("CHANNEL_CONFIG", {
      message: `This installation neither has ${name}, which ${needing(channel)} needs, nor names its version.`,
      fix: "Install OpenClaw anew, or run `npm ci` and `npm run build` in a clone.",
      cause,
    });
  }
}

async function fetchLibrary(
  store: LibraryStore,
  wish: LibraryRequest,
  { lock, place }: { lock: string; place: string },
): Promise<void> {
  store.log.info(`fetching ${wish.name} for ${needing(wish.channel)} from the npm registry`);
  wish.fetching?.(`fetching the library ${wish.name} from the npm registry`);
  await mkdir(store.folder, { recursive: true, mode: 0o700 });
  // A folder of its own, so that npm's result is not visible before it is complete.
  const draft = await mkdtemp(join(store.folder, `.${wish.channel}-`));
  try {
    await writeFile(join(draft, "package.json"), manifestIn(lock));
    await writeFile(join(draft, "package-lock.json"), lock);
    await runNpm(store, wish, draft);
    await rename(draft, place).catch((error: unknown) => {
      // Another account installed the library first.
      if (!existsSync(place)) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  await removeOthers(store, wish, place);
}

const lockShape = z.looseObject({ packages: z.looseObject({ "": z.looseObject({}) }) });

const manifestIn = (lock: string): string => JSON.stringify(lockShape.parse(JSON.parse(lock)).packages[""]);

const ARGUMENTS = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];

async function runNpm({ env, npm }: LibraryStore, wish: LibraryRequest, cwd: string): Promise<void> {
  const [command, ...first] = npm;
  try {
    await promisify(execFile)(command, [...first, ...ARGUMENTS], {
      cwd,
      env: npmEnv(env),
      signal: wish.signal,
      timeout: FETCH_WITHIN_MS,
      maxBuffer: MOST_OUTPUT,
      windowsHide: true,
    });
  } catch (cause) {
    throw isMissing(cause) ? noNpm(wish, cause) : notFetched(wish, cause);
  }
}

const noNpm = ({ name, channel }: LibraryRequest, cause: unknown): OpenClawError =>
  new OpenClawError("CHANNEL_CONFIG", {
    message: `${name}, which ${needing(channel)} needs, has to be fetched, and there is no npm on this machine.`,
    fix: "Install npm, or bring the library from another machine: see docs/reference/dependencies.md.",
    cause,
  });

const notFetched = ({ name }: LibraryRequest, cause: unknown): OpenClawError =>
  new OpenClawError("CHANNEL_LIBRARY", {
    message: `${name} could not be fetched: ${shorten(npmErrorText(cause), 300)}`,
    fix: "See that this machine reaches the npm registry (npm ping), or bring the library: see docs/reference/dependencies.md.",
    cause,
  });

/** Removes earlier versions, and temporary folders of a crashed process. */
async function removeOthers({ folder }: LibraryStore, { channel }: LibraryRequest, place: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const isDraft = name.startsWith(`.${channel}-`);
    if (path === place || !(isDraft || name.startsWith(`${channel}-`))) continue;
    if (!isDraft || (await ageOf(path)) > DRAFT_KEPT_MS) await rm(path, { recursive: true, force: true });
  }
}

async function ageOf(path: string): Promise<number> {
  try {
    return Date.now() - (await stat(path)).mtimeMs;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}
