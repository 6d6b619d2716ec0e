import { join } from "node:path";
import { z } from "zod";
import { writeAtomic } from "../../store/disk.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { loadSource, type LoadedConfig, type LoadOptions } from "./load.ts";
import type { StatePaths } from "./paths.ts";
import { ConfigError } from "./schema/problem.ts";
import { hashOnDisk, readConfigSource, sourceOf } from "./source.ts";
import { readTextFile } from "../../store/text-file.ts";

/** The texts of a config's files, by absolute path, and when a gateway became ready with them. */
const keptConfig = z.object({
  at: z.number(),
  hash: z.string(),
  main: z.string(),
  included: z.record(z.string(), z.string()),
});

/** The place of the file. */
type Place = Pick<StatePaths, "stateSub">;

/** The file has the secrets of the config, so it lies where tools cannot read: `state/last-valid-config.json`, mode 0600. */
const fileIn = ({ stateSub }: Place): string => join(stateSub, "last-valid-config.json");

/**
 * Keeps the files of a config with which the gateway has become ready. Nothing is kept of files that were changed since they were read.
 * Rejects with DISK_FULL or DISK_WRITE.
 */
export async function keepLastValid(places: Place, { path, hash, exists }: LoadedConfig, now: number): Promise<void> {
  if (!exists) return;
  const source = await readConfigSource({ path });
  if (source.hash !== hash || source.text === undefined) return;
  // A damaged copy is written again.
  const before = await readKept(places).catch(() => undefined);
  if (before?.hash === hash) return;
  const included = [...source.files].flatMap(([file, { text }]) => (file === path ? [] : [[file, text] as const]));
  const kept = { at: now, hash, main: source.text, included: Object.fromEntries(included) };
  await writeAtomic(fileIn(places), `${JSON.stringify(kept satisfies z.input<typeof keptConfig>)}\n`);
}

/**
 * Reads the config that was kept instead of its files, and when it was kept. `hash` is that of the files as they are now, so that the next
 * change of them is one. Throws CONFIG_UNREADABLE when none was kept, else as `loadConfig` does.
 */
export async function loadLastValid(places: Place, options: LoadOptions): Promise<LoadedConfig & { keptAt: number }> {
  const kept = await readKept(places);
  if (!kept)
    throw new ConfigError("CONFIG_UNREADABLE", {
      message: "No config is kept: none has started a gateway of this state directory yet.",
      fix: "Mend the config file: openclaw doctor says what is wrong with it, and names the file before the last change.",
    });
  const source = await sourceOf(kept.main, options, new Map(Object.entries(kept.included)));
  return {
    path: options.path,
    exists: true,
    hash: await hashOnDisk(options),
    files: [...source.files.keys()],
    keptAt: kept.at,
    ...(await loadSource(source, options)),
  };
}

/** A sentence that names the command for the kept config; undefined when there is none that can be read. */
export async function lastValidHint(places: Place): Promise<string | undefined> {
  // The command itself says why the file cannot be read.
  const kept = await readKept(places).catch(() => undefined);
  if (!kept) return undefined;
  return `The config with which the gateway last started (kept ${new Date(kept.at).toISOString()}) starts it until then: openclaw gateway run --last-valid-config`;
}

async function readKept(places: Place): Promise<z.output<typeof keptConfig> | undefined> {
  const file = fileIn(places);
  const text = await readTextFile(file);
  if (text === undefined) return undefined;
  try {
    return keptConfig.parse(JSON.parse(text));
  } catch (error) {
    throw new ConfigError("CONFIG_UNREADABLE", {
      message: `${file} cannot be read: ${errorText(error)}`,
      fix: "Mend the config file, and start without --last-valid-config.",
      cause: error,
    });
  }
}
