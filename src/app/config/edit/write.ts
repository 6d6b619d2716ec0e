import { mkdir, realpath } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { removeUnfinished, writeAtomic } from "../../../store/disk.ts";
import { lockFile } from "../../../store/lock/lock-file.ts";
import { OpenClawError } from "../../../types/errors.ts";
import { MASK } from "../../../types/secret.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { setConfigValue, unsetConfigValue } from "./edit.ts";
import { loadSource, type LoadOptions } from "../load.ts";
import { hashOnDisk, readConfigSource, sourceOf, writeHomeOf, type ConfigSource } from "../source.ts";
import { parseConfigText } from "../parse.ts";
import { ConfigError, showPath, type ConfigNote, type KeyPath } from "../schema/problem.ts";
import { hasMask, REDACTED } from "../shown.ts";

/**
 * Changes one value, and resolves with the file that has it. Throws as `writeConfigText` does, `CONFIG_SYNTAX` when the file is no JSON5, `USAGE`
 * for a placeholder.
 */
export const writeConfigValue = async (options: LoadOptions, path: KeyPath, value: unknown): Promise<string> =>
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
 * Changes several values of one file in one step, or none, and resolves with the file. Throws as `writeConfigValue` does, and `ConfigChangedError`
 * when the file has another hash than `baseHash`.
 */
export async function writeConfigValues(
  options: LoadOptions,
  edits: readonly Edit[],
  baseHash?: string,
): Promise<string> {
  for (const edit of edits) refuseUnfit(edit);
  const { file } = await rewrite(options, (source) => {
    if (baseHash !== undefined && baseHash !== source.hash) throw new ConfigChangedError();
    return changeOf(source, edits);
  });
  return file;
}

/** Replaces the text of the main file by a person's own. Throws as `writeConfigValues` does. */
export async function writeWholeConfig(options: LoadOptions, text: string, baseHash: string): Promise<void> {
  refuseUnfit({ path: [], value: parseConfigText(text, options.path) });
  await rewrite(options, (source) => {
    if (baseHash !== source.hash) throw new ConfigChangedError();
    return { file: source.path, after: text };
  });
}

/** The new text of one of the config's files. */
interface FileChange {
  readonly file: string;
  readonly after: string;
}

/** Throws USAGE when the changes belong to more than one file: writing them to one file would copy values of another. */
function changeOf(source: ConfigSource, edits: readonly Edit[]): FileChange {
  const homes = edits.map(({ path, value }) => ({ home: writeHomeOf(source, { path, value }), value }));
  const why = homes.map(({ home }) => home).find((home) => typeof home === "string");
  const files = new Set(homes.flatMap(({ home }) => (typeof home === "string" ? [] : [home.file])));
  const [file = source.path, other] = files;
  if (why !== undefined) throw new SeveralFilesError(why);
  if (other !== undefined)
    throw new SeveralFilesError(`the change is about ${[...files].map((one) => basename(one)).join(", ")}`);
  const own = homes.flatMap(({ home, value }) => (typeof home === "string" ? [] : [{ path: home.path, value }]));
  return { file, after: own.reduce(edited, source.files.get(file)?.text ?? "") };
}

/** A change that is not about the keys of one file alone. */
export class SeveralFilesError extends OpenClawError {
  constructor(why: string) {
    super("USAGE", {
      message: `Not written: ${why}, which $include puts together.`,
      fix: "Edit the file that has the value, or change the keys of one file at a time.",
    });
  }
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

/** Removes one key, and resolves with its file. Undefined when the key is not there. Throws as `writeConfigValue` does. */
export async function removeConfigValue(options: LoadOptions, path: KeyPath): Promise<string | undefined> {
  const { file, isNew } = await rewrite(options, (source) => changeOf(source, [{ path, value: undefined }]));
  return isNew ? file : undefined;
}

/**
 * Runs edits of all processes in sequence, so that each one starts from the result of the one before. `isNew` is
 * false when the text stays the same.
 */
async function rewrite(
  options: LoadOptions,
  change: (source: ConfigSource) => FileChange,
): Promise<{ readonly file: string; readonly isNew: boolean }> {
  const release = await lockConfig(options.path);
  try {
    const source = await readConfigSource(options);
    const made = change(source);
    const isNew = made.after !== source.files.get(made.file)?.text;
    if (isNew) await writeConfigText(options, source, made);
    return { file: made.file, isNew };
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
 * Replaces one file in one step, mode 0600; the old file is kept as `<file>.bak`. Refused with `CONFIG_INVALID` when
 * the new text has a problem that the old text did not have, so that a broken file can be fixed key by key. Throws
 * `CONFIG_WRITE`.
 */
async function writeConfigText(options: LoadOptions, source: ConfigSource, { file, after }: FileChange): Promise<void> {
  const isMain = file === source.path;
  const changed = await sourceOf(isMain ? after : source.text, options, new Map([[file, after]]));
  const old = new Set((await problemsOf(source, options)).map((note) => `${note.key} ${note.message}`));
  const added = (await problemsOf(changed, options)).filter((note) => !old.has(`${note.key} ${note.message}`));
  const [first] = added;
  if (first) {
    throw new ConfigError("CONFIG_INVALID", {
      message: `Not written: ${first.key}: ${first.message}`,
      fix: "Give a value that fits; docs/reference/config.md lists the keys.",
      problems: added,
    });
  }
  const before = source.files.get(file)?.text ?? "";
  // The check of the new text can take seconds, in which a person may have saved the file.
  if ((await hashOnDisk(options)) !== source.hash) throw new ConfigChangedError();
  try {
    // A link to the main file is preserved: people keep it among their dotfiles. An included file is known without links.
    const target = before === "" || !isMain ? file : await realpath(file);
    const backup = `${file}.bak`;
    for (const path of [backup, target]) await removeUnfinished(path);
    if (before !== "") await writeAtomic(backup, before);
    await writeAtomic(target, after);
  } catch (error) {
    throw notWritable(file, error);
  }
}

/** The problems of a config. A secret that exists only in the gateway's environment is not a problem of the file. */
async function problemsOf(source: ConfigSource, options: LoadOptions): Promise<readonly ConfigNote[]> {
  if ((source.text ?? "") === "") return [];
  try {
    await loadSource(source, options);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.code === "SECRET_MISSING" ? [] : error.problems;
  }
}
