import { posix } from "node:path";
import { unsafe } from "./refusals.ts";

/** How much a plugin may hold. */
export interface PluginSizeLimits {
  /** Files, folders and links together. */
  readonly entries: number;
  /** Bytes of all files, unpacked. */
  readonly bytes: number;
}

const MB = 1_048_576;

/** An archive is written by a stranger; a published plugin without its dependencies is far smaller. */
export const ARCHIVE_LIMITS: PluginSizeLimits = { entries: 20_000, bytes: 500 * MB };

/** A folder may have its dependencies in it, and npm adds dependencies to a published plugin. */
export const FOLDER_LIMITS: PluginSizeLimits = { entries: 200_000, bytes: 2048 * MB };

/** Characters that would steer a terminal or hide how a name reads. */
const CONTROL = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u;

/** Throws `PLUGIN_UNSAFE` for a name that no plugin needs. */
export function refuseName(path: string): void {
  if (CONTROL.test(path)) throw unsafe(`It has a file name with control characters: ${JSON.stringify(path)}.`);
}

/** The normalised path of an entry inside the archive. Throws `PLUGIN_UNSAFE` for one that leads out of it. */
export function refusePath(path: string): string {
  refuseName(path);
  if (isAbsolutePath(path) || path.split(/[/\\]/).includes(".."))
    throw unsafe(`${path} in the archive leads out of it.`);
  return posix.normalize(path).replace(/\/$/, "");
}

/** Whether a path is absolute on any system. */
export const isAbsolutePath = (path: string): boolean => /^(?:[/\\]|[A-Za-z]:)/.test(path);

/** Counts entries and bytes so far. */
export class Count {
  entries = 0;
  bytes = 0;
  readonly #limits: PluginSizeLimits;

  constructor(limits: PluginSizeLimits) {
    this.#limits = limits;
  }

  /** Throws `PLUGIN_UNSAFE` above a limit. */
  add(bytes: number): void {
    this.entries += 1;
    this.bytes += bytes;
    if (this.entries > this.#limits.entries) throw tooLarge(`${this.#limits.entries} files`);
    if (this.bytes > this.#limits.bytes) throw tooLarge(`${this.#limits.bytes / MB} MB`);
  }
}

const tooLarge = (what: string) =>
  unsafe(
    `It has more than ${what}.`,
    "Install what is needed to run it alone, or link a folder of your own with --link.",
  );
