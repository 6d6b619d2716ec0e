import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname } from "node:path";
import JSON5 from "json5";
import { OpenClawError } from "../../../../types/errors.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { parseConfigValue } from "../../../config/edit/edit.ts";
import { loadConfig, type LoadOptions } from "../../../config/load.ts";
import { Live } from "../../../live.ts";
import { nearest } from "../../../config/keys/nearest.ts";
import { readConfigSource } from "../../../config/source.ts";
import { ConfigError, readPath, showPath, valueAt, type KeyPath } from "../../../config/schema/problem.ts";
import { shownConfig } from "../../../config/shown.ts";
import { removeConfigValue, writeConfigValue } from "../../../config/edit/write.ts";
import { writeJson, type Io } from "../../io.ts";
import { loadOptions } from "../../state.ts";

/** Prints the current value, or the file's value of a key without effect. Throws NOT_FOUND. */
export async function configGet(io: Io, key: string, options: { json?: boolean }): Promise<number> {
  const path = readPath(key);
  const { load } = await loadOptions(io);
  const { config } = await loadConfig(load);
  const found = valueAt(config, path) ?? (await rawValue(load, path));
  if (found === undefined) throw missing(config, path);
  const value = shownConfig(found, path);
  if (options.json === true) writeJson(io, value);
  else if (typeof value === "string") io.out(`${value}\n`, "data");
  else writeJson(io, value);
  return 0;
}

/** A key that has no effect here has no type either. */
async function rawValue(load: LoadOptions, path: KeyPath): Promise<unknown> {
  return valueAt((await readConfigSource(load)).value, path);
}

function missing(config: unknown, path: KeyPath): OpenClawError {
  const parent = valueAt(config, path.slice(0, -1));
  const siblings = typeof parent === "object" && parent !== null ? Object.keys(parent) : [];
  const near = nearest(String(path.at(-1)), siblings);
  return new OpenClawError("NOT_FOUND", {
    message: `${showPath(path)} has no value.`,
    fix:
      near === undefined
        ? "docs/reference/config.md lists the keys."
        : `Did you mean ${showPath([...path.slice(0, -1), near])}?`,
  });
}

/**
 * Changes one value. Throws what `writeConfigValue` throws, `USAGE` with `strict` on text that is no JSON5, and what
 * `requireSelectable` throws where a slot would name what cannot be in it.
 */
export async function configSet(io: Io, given: { key: string; value: string }, strict: boolean): Promise<number> {
  const path = readPath(given.key);
  const value = strict ? strictValue(given.value) : parseConfigValue(given.value);
  await requireFit(io, path, value);
  const file = await setInFile(io, path, value).catch((error: unknown) => {
    // Ids and phone numbers are texts of digits.
    if (strict || typeof value !== "number" || !(error instanceof ConfigError)) throw error;
    return setInFile(io, path, given.value).catch(() => {
      throw error;
    });
  });
  io.out(`Set ${showPath(path)} in ${file}.\n`);
  await warnOf(io, path);
  return 0;
}

/** Says what the file's check warns of at this key, above it or below it, such as that it has no effect. */
async function warnOf(io: Io, path: KeyPath): Promise<void> {
  const { load } = await loadOptions(io);
  const loaded = await loadConfig(load).catch((error: unknown) => io.err(`warning: ${errorText(error)}\n`));
  const isNear = (key: string) => readPath(key).every((part, at) => path[at] === undefined || path[at] === part);
  for (const { key, text } of loaded?.warnings ?? []) if (isNear(key)) io.err(`warning: ${text}\n`);
}

async function requireFit(io: Io, path: KeyPath, value: unknown): Promise<void> {
  if (path[0] !== "plugins") return;
  const { requireSelectable, slotsIn } = await import("../../../plugins/select.ts");
  const slots = slotsIn([{ path, value }]);
  if (slots.length === 0) return;
  const { paths, load } = await loadOptions(io);
  // In a broken config nothing can be tried, and this value may mend it.
  const loaded = await loadConfig(load).catch(() => undefined);
  if (!loaded) return;
  const live = new Live(paths, io.env["HOME"] ?? homedir(), loaded, io.contributions);
  for (const [slot, id] of slots) await requireSelectable(live, slot, { id });
}

/** Changes one value and creates a missing file; returns the path of the file that has it. */
export async function setInFile(io: Io, path: KeyPath, value: unknown): Promise<string> {
  const { load } = await loadOptions(io);
  try {
    await mkdir(dirname(load.path), { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new OpenClawError("CONFIG_WRITE", {
      message: `${dirname(load.path)} cannot be made: ${errorText(error)}`,
      fix: "Check the rights of the directory above it.",
      cause: error,
    });
  }
  return writeConfigValue(load, path, value);
}

function strictValue(text: string): unknown {
  try {
    return JSON5.parse<unknown>(text);
  } catch (error) {
    throw new OpenClawError("USAGE", {
      message: "The value is no JSON5.",
      fix: `Put text in quotes: '"text"'.`,
      cause: error,
    });
  }
}

/** Removes one key from the file. Throws NOT_FOUND when it is not there. */
export async function configUnset(io: Io, key: string): Promise<number> {
  const path = readPath(key);
  const { load } = await loadOptions(io);
  const file = await removeConfigValue(load, path);
  if (file === undefined) {
    throw new OpenClawError("NOT_FOUND", {
      message: `${showPath(path)} is not in ${load.path}.`,
      fix: "Nothing to do: its default is in force.",
    });
  }
  io.out(`Took ${showPath(path)} out of ${file}.\n`);
  return 0;
}
