import { mkdir, realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { removeUnfinished, writeAtomic } from "../../../store/disk.ts";
import { lockFile } from "../../../store/lock/lock-file.ts";
import { OpenClawError } from "../../../types/errors.ts";
import { MASK } from "../../../types/secret.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { setConfigValue, unsetConfigValue } from "./edit.ts";
import { textHash, loadConfigText, readConfigText, type LoadOptions } from "../load.ts";
import { parseConfigText } from "../parse.ts";
import { ConfigError, showPath, type ConfigNote, type KeyPath } from "../schema/problem.ts";
import { hasMask, REDACTED } from "../shown.ts";

/**
 * Changes one value of the file. Throws as `writeConfigText` does, `CONFIG_SYNTAX` when the file is no JSON5, `USAGE`
 * for a placeholder.
 */
export const writeConfigValue = async (options: LoadOptions, path: KeyPath, value: unknown): Promise<void> =>
  writeConfigValues(options, [{ path, value }]);

/** The file has another hash than the one that a change is based on. */
export class ConfigChangedError extends OpenClawError {
  constructor() {
    super("USAGE", {
      message: "The config file was changed since it was read.",
      fix: "Read it again, and use the new hash.",
    });
  }
}

/**
 * Changes several values of the file in one step, or none. Throws as `writeConfigValue` does, and `ConfigChangedError`
 * when the file has another hash than `baseHash`.
 */
export async function writeConfigValues(
  options: LoadOptions,
  edits: readonly Edit[],
  baseHash?: string,
): Promise<void> {
  for (const edit of edits) refuseUnfit(edit);
  await rewrite(options, (text) => {
    if (baseHash !== undefined && baseHash !== textHash(text)) throw new ConfigChangedError();
    return edits.reduce(edited, text);
  });
}

/** Replaces the text of the file by a person's own. Throws as `writeConfigValues` does. */
export async function writeWholeConfig(options: LoadOptions, text: string, baseHash: string): Promise<void> {
  refuseUnfit({ path: [], value: parseConfigText(text, options.path) });
  await rewrite(options, (before) => {
    if (baseHash !== textHash(before)) throw new ConfigChangedError();
    return text;
  });
}

interface Edit {
  readonly path: KeyPath;
  /** The new value; undefined removes the key. */
  readonly value: unknown;
}

const edited = (text: string, { path, value }: Edit): string =>
  value === undefined ? unsetConfigValue(text, path) : setConfigValue(text, path, value);

/** Refuses values that no config can have: the placeholder of a secret, and a key named `__proto__`. */
function refuseUnfit({ path, value }: Edit): void {
  if (hasMask(value)) {
    throw new OpenClawError("USAGE", {
      message: `${showPath(path) || "The config"} has ${MASK} or ${REDACTED} in it, placeholders for values that are not shown.`,
      fix: "Give the value itself, or leave the key out to keep what is there.",
    });
  }
  if ([...path, ...namesIn(value)].includes("__proto__"))
    throw new OpenClawError("USAGE", { message: "No key may be named __proto__.", fix: "Give it another name." });
}

function namesIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, child]: [string, unknown]) => [name, ...namesIn(child)]);
}

/** Removes one key from the file. False when it is not there. Throws as `writeConfigValue` does. */
export async function removeConfigValue(options: LoadOptions, path: KeyPath): Promise<boolean> {
  let isThere = false;
  await rewrite(options, (text) => {
    const next = unsetConfigValue(text, path);
    isThere = next !== text;
    return next;
  });
  return isThere;
}

/** Runs edits of all processes in sequence, so that each one starts from the result of the one before. */
async function rewrite(options: LoadOptions, change: (text: string) => string): Promise<void> {
  const release = await lockConfig(options.path);
  try {
    const before = (await readConfigText(options.path)) ?? "";
    if (before !== "") parseConfigText(before, options.path);
    const after = change(before);
    if (after !== before) await writeConfigText(options, before, after);
  } finally {
    await release();
  }
}

async function lockConfig(path: string): Promise<() => Promise<void>> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return await lockFile(path);
  } catch (error) {
    throw notWritable(path, error);
  }
}

const notWritable = (path: string, error: unknown): OpenClawError =>
  new OpenClawError("CONFIG_WRITE", {
    message: `${path} cannot be written: ${errorText(error)}`,
    fix: "Check the rights of the file and its directory, and the free space.",
    cause: error,
  });

/**
 * Replaces the file in one step, mode 0600; the old file is kept as `<file>.bak`. Refused with `CONFIG_INVALID` when
 * the new text has a problem that the old text did not have, so that a broken file can be fixed key by key. Throws
 * `CONFIG_WRITE`.
 */
async function writeConfigText(options: LoadOptions, before: string, after: string): Promise<void> {
  const old = new Set((await problemsOf(before, options)).map((note) => `${note.key} ${note.message}`));
  const added = (await problemsOf(after, options)).filter((note) => !old.has(`${note.key} ${note.message}`));
  const [first] = added;
  if (first) {
    throw new ConfigError("CONFIG_INVALID", {
      message: `Not written: ${first.key}: ${first.message}`,
      fix: "Give a value that fits; docs/reference/config.md lists the keys.",
      problems: added,
    });
  }
  try {
    // A symbolic link is preserved: people keep this file among their dotfiles.
    const target = before === "" ? options.path : await realpath(options.path);
    const backup = `${options.path}.bak`;
    for (const path of [backup, target]) await removeUnfinished(path);
    if (before !== "") await writeAtomic(backup, before);
    await writeAtomic(target, after);
  } catch (error) {
    throw notWritable(options.path, error);
  }
}

/** The problems of a text. A secret that exists only in the gateway's environment is not a problem of the file. */
async function problemsOf(text: string, options: LoadOptions): Promise<readonly ConfigNote[]> {
  if (text === "") return [];
  try {
    await loadConfigText(text, options);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.code === "SECRET_MISSING" ? [] : error.problems;
  }
}
