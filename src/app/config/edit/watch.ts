import { watch, type FSWatcher } from "node:fs";
import { dirname, join } from "node:path";
import { OpenClawError } from "../../../types/errors.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import type { LoadedConfig } from "../load.ts";
import { hashOnDisk } from "../source.ts";
import { Secret } from "../../../types/secret.ts";
import { isRecord, showPath, type KeyPath } from "../schema/problem.ts";
import { isWaiting } from "../keys/schema-keys.ts";
import type { Config } from "../schema/schema.ts";
import { own } from "../../../utils/own.ts";

export type ConfigEvent =
  | ({ readonly kind: "valid"; readonly loaded: LoadedConfig } & ConfigChanges)
  /** The current config stays. */
  | { readonly kind: "invalid"; readonly error: OpenClawError };

export interface WatchOptions {
  /** The current config; the next one is compared with it. */
  readonly current: LoadedConfig;
  readonly load: () => Promise<LoadedConfig>;
  /** Quiet time after a change of the file, so that a half-written one is not read. */
  readonly debounceMs: number;
  readonly signal: AbortSignal;
  /** The current config is not that of the files: the next valid one is an event even if it has the same values. */
  readonly isAnother?: boolean;
}

/**
 * One event for each change of the files' content, until `signal` aborts. The directories are watched, not the files:
 * editors replace them. Throws when the directory cannot be watched.
 */
export async function* watchConfig(options: WatchOptions): AsyncGenerator<ConfigEvent, void> {
  const path = options.current.path;
  const changes = new FileChanges(options.debounceMs, options.signal);
  let { current } = options;
  changes.follow(current.files);
  let seen = current.hash;
  let wasInvalid = options.isAnother === true;
  try {
    for (let more = await changes.next(); more; more = await changes.next()) {
      const hash = await hashOnDisk({ path });
      if (hash === seen) continue;
      seen = hash;
      const event = await readEvent(options.load, current);
      const hasNewWarnings = event.kind === "valid" && warningsOf(event.loaded) !== warningsOf(current);
      if (event.kind === "valid") current = event.loaded;
      changes.follow(current.files);
      // A file that is corrected by undoing the mistake changes no key, but it is an event.
      const isNews = event.kind === "invalid" || wasInvalid || event.changed.length > 0 || hasNewWarnings;
      wasInvalid = event.kind === "invalid";
      if (isNews) yield event;
    }
  } finally {
    changes.stop();
  }
}

/** The warnings without line numbers: a blank line added above them changes nothing. */
const warningsOf = ({ warnings }: LoadedConfig): string =>
  warnings.map(({ key, message }) => `${key} ${message}`).join("\n");

async function readEvent(load: WatchOptions["load"], current: LoadedConfig): Promise<ConfigEvent> {
  try {
    const loaded = await load();
    if (current.exists && !loaded.exists) return { kind: "invalid", error: removed(current.path) };
    return { kind: "valid", loaded, ...compareConfigs(current.config, loaded.config) };
  } catch (error) {
    return { kind: "invalid", error: error instanceof OpenClawError ? error : notLoaded(error) };
  }
}

/** Defaults may allow more than the file did, so a removed file changes nothing; somebody may be replacing it. */
const removed = (path: string): OpenClawError =>
  new OpenClawError("CONFIG_UNREADABLE", {
    message: `${path} was removed while the gateway runs`,
    fix: "Put the file back, or restart the gateway to run with all defaults.",
  });

/** An error in one edit does not stop the watcher: the next edit may correct it. */
const notLoaded = (cause: unknown): OpenClawError =>
  new OpenClawError("CONFIG_INVALID", {
    message: `The config file cannot be used: ${errorText(cause)}`,
    fix: "Take the last change back, then run: openclaw config validate",
    cause,
  });

/**
 * `next` resolves true after each burst of changes, false once aborted. A burst during the caller's work is not lost.
 * `follow` names the files that count from now on.
 */
class FileChanges {
  readonly #debounceMs: number;
  readonly #signal: AbortSignal;
  /** By folder. */
  readonly #watchers = new Map<string, FSWatcher>();
  #files: ReadonlySet<string> = new Set();
  /** A file may have changed between its load and now. */
  #dirty = true;
  #wake: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(debounceMs: number, signal: AbortSignal) {
    this.#debounceMs = debounceMs;
    this.#signal = signal;
    signal.addEventListener("abort", this.stop, { once: true });
  }

  /** Throws when the folder of a file cannot be watched. */
  follow(files: readonly string[]): void {
    this.#files = new Set(files);
    const folders = new Set(files.map((file) => dirname(file)));
    for (const [folder, watcher] of this.#watchers) {
      if (folders.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    if (this.#signal.aborted) return;
    for (const folder of folders) if (!this.#watchers.has(folder)) this.#watchers.set(folder, this.#watch(folder));
  }

  #watch(folder: string): FSWatcher {
    const watcher = watch(folder, { persistent: false }, (_event, name) => {
      if (name !== null && !this.#files.has(join(folder, name))) return;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => {
        this.#dirty = true;
        this.#wake?.();
      }, this.#debounceMs);
    });
    // On some systems a deleted directory ends the watch; the current config stays.
    return watcher.on("error", this.stop);
  }

  async next(): Promise<boolean> {
    while (!this.#dirty && !this.#signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
    this.#dirty = false;
    return !this.#signal.aborted;
  }

  readonly stop = (): void => {
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
    this.#wake?.();
  };
}

interface ConfigChanges {
  /** Every key whose value differs. */
  readonly changed: readonly string[];
  /** Keys whose change applies from the next message. */
  readonly live: readonly string[];
  /** Channels whose adapter is restarted. */
  readonly channels: readonly string[];
  /** Keys whose change needs a restart of the gateway. */
  readonly restart: readonly string[];
}

/** The differences between two configs. Secrets are compared and never shown. */
export function compareConfigs(before: Config, after: Config): ConfigChanges {
  const paths = differences(before, after, []);
  const ofChannels = paths.filter((path) => path[0] === "channels");
  const others = paths.filter((path) => path[0] !== "channels");
  return {
    changed: paths.map(showPath),
    live: others.filter((path) => !isWaiting(path)).map(showPath),
    channels: [...new Set(ofChannels.flatMap((path) => (path[1] === undefined ? [] : String(path[1]))))],
    restart: others.filter(isWaiting).map(showPath),
  };
}

function differences(before: unknown, after: unknown, path: KeyPath): readonly KeyPath[] {
  if (isRecord(before) && isRecord(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...keys].flatMap((key) => differences(own(before, key), own(after, key), [...path, key]));
  }
  return isSame(before, after) ? [] : [path];
}

function isSame(before: unknown, after: unknown): boolean {
  if (before instanceof Secret && after instanceof Secret) return before.reveal() === after.reveal();
  if (Array.isArray(before) && Array.isArray(after)) {
    return (
      before.length === after.length && before.every((item, index) => differences(item, after[index], []).length === 0)
    );
  }
  return Object.is(before, after);
}
