import fs from "node:fs/promises";
import path from "node:path";

/** A key of a link, as JSON in the library's form. The credentials have the type `creds` and no id. */
export interface LinkRow {
  readonly type: string;
  readonly id: string;
  readonly json: string;
}

export interface LinkFiles {
  readonly rows: readonly LinkRow[];
  /** Renames the credentials, so that no program uses the link a second time. */
  putAside(): Promise<void>;
}

const CREDS = "creds.json";
/** Longer names first: `sender-key-memory-…` is no `sender-key`. */
const TYPES = [
  "app-state-sync-version",
  "app-state-sync-key",
  "sender-key-memory",
  "identity-key",
  "lid-mapping",
  "device-list",
  "sender-key",
  "pre-key",
  "session",
  "tctoken",
];
/** Larger files are none of the library. */
const MOST_BYTES = 16 * 1024 * 1024;

/**
 * A link in a folder of files, as the library's own store for files (`useMultiFileAuthState`) keeps it. Undefined when the folder has no
 * credentials that can be read. Files that are no JSON are passed over: the library makes such keys anew.
 */
export async function readLinkFiles(folder: string): Promise<LinkFiles | undefined> {
  const creds = (await jsonOf(path.join(folder, CREDS))) ?? (await jsonOf(path.join(folder, `${CREDS}.bak`)));
  if (creds === undefined) return undefined;
  const rows: LinkRow[] = [{ type: "creds", id: "", json: creds }];
  for (const name of await fs.readdir(folder)) {
    const key = keyOf(name);
    const json = key && (await jsonOf(path.join(folder, name)));
    if (key && json !== undefined) rows.push({ ...key, json });
  }
  return { rows, putAside: () => putAside(folder) };
}

/** The library writes `/` as `__` and `:` as `-` in names of files. Only ids of sender keys have colons, two at a time. */
function keyOf(name: string): Omit<LinkRow, "json"> | undefined {
  const type = TYPES.find((one) => name.startsWith(`${one}-`));
  if (type === undefined || !name.endsWith(".json")) return undefined;
  const id = name.slice(type.length + 1, -".json".length).replaceAll("__", "/");
  return { type, id: type === "sender-key" ? id.replaceAll("--", "::") : id };
}

async function jsonOf(file: string): Promise<string | undefined> {
  const facts = await fs.lstat(file).catch(missing);
  if (facts?.isFile() !== true || facts.size > MOST_BYTES) return undefined;
  const json = await fs.readFile(file, "utf8");
  try {
    return typeof JSON.parse(json) === "object" || json.startsWith('"') ? json : undefined;
  } catch {
    // The parser's message would quote the keys.
    return undefined;
  }
}

async function putAside(folder: string): Promise<void> {
  for (const name of [CREDS, `${CREDS}.bak`])
    await fs.rename(path.join(folder, name), path.join(folder, `${name}.taken`)).catch(missing);
}

function missing(error: unknown): undefined {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
  throw error;
}
