import { join } from "node:path";
import { defined } from "../../utils/defined.ts";
import { isFields } from "../../utils/fields.ts";
import { readTextFile } from "../../store/text-file.ts";

/** Entries about hooks in the `package.json` of a folder. */
export interface HookPack {
  readonly name?: string;
  readonly version?: string;
  /** `openclaw.hooks`: folders of hooks, from the pack's own folder. */
  readonly hooks: readonly string[];
}

/** Reads the pack of a folder; empty without a `package.json`, or with one that cannot be read. Never rejects. */
export async function packOf(folder: string): Promise<HookPack> {
  try {
    const text = await readTextFile(join(folder, "package.json"));
    const json: unknown = text === undefined ? undefined : JSON.parse(text);
    const given = isFields(json) ? json : {};
    const own = isFields(given["openclaw"]) ? given["openclaw"]["hooks"] : undefined;
    const hooks = Array.isArray(own) ? own.filter((name): name is string => typeof name === "string") : [];
    return { hooks, ...defined({ name: textOf(given["name"]), version: textOf(given["version"]) }) };
  } catch {
    // A file, or a package that is none.
    return { hooks: [] };
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
