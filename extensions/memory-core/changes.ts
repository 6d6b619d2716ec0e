import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { appendFile, mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";

/** Who or what a line of a note comes from. `untrusted`: the conversation had read what others wrote. */
export type Origin = "owner" | "guest" | "automation" | "plugin" | "untrusted";

/** One line of the file of changes. Lines of notes are there as hashes, so that the file holds nothing of what they say. */
export interface NoteRecord {
  /** ISO 8601. */
  readonly at: string;
  readonly path: string;
  readonly tool: string;
  readonly session?: string;
  readonly run?: string;
  readonly call?: string;
  /** Kind and id of whoever the turn acted for. */
  readonly by: string;
  readonly origin: Origin;
  /** Of untrusted content, in one line. */
  readonly sources?: string;
  /** Unset when the change was too large to be compared: any line of the file can be from it. */
  readonly added?: readonly string[];
  readonly removed?: readonly string[];
}

/** The file beside the index in which the changes of an agent's notes are kept; it is not derived from anything. */
export const changesFileOf = (index: string): string => index.replace(/\.sqlite$/, ".changes.jsonl");

/** Empty lines have no origin. Spaces around a line do not count. */
const lineHash = (line: string): string => createHash("sha256").update(line.trim()).digest("hex").slice(0, 20);

export const lineHashes = (lines: readonly string[]): readonly string[] =>
  lines.filter((line) => line.trim() !== "").map(lineHash);

/** Adds a record, in one write. Rejects with the errors of the disk. */
export async function appendChange(file: string, record: NoteRecord): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await appendFile(file, `${JSON.stringify(record)}\n`, { mode: 0o600 });
}

/** All records, oldest first; lines that cannot be read are left out. */
export const readChanges = (file: string): readonly NoteRecord[] => linesIn(file).flatMap((line) => parsed(line) ?? []);

/** How many lines cannot be read. */
export const unreadableChanges = (file: string): number => linesIn(file).filter((line) => !parsed(line)).length;

function linesIn(file: string): readonly string[] {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "");
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function parsed(line: string): NoteRecord | undefined {
  if (line === "") return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : undefined;
  } catch {
    // The process was killed while it wrote this line.
    return undefined;
  }
}

const isRecord = (value: unknown): value is NoteRecord =>
  typeof value === "object" &&
  value !== null &&
  ["at", "path", "tool", "by", "origin"].every((name) => typeof Reflect.get(value, name) === "string");

/** Hashes of the lines of a note that conversations wrote which had read untrusted content. Rejects with the errors of the disk. */
export async function untrustedHashes(file: string, path: string): Promise<ReadonlySet<string>> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if (isMissing(error)) return new Set();
    throw error;
  }
  // Few lines are of that kind, and only they are parsed.
  const records = text.split("\n").flatMap((line) => (line.includes('"untrusted"') ? (parsed(line) ?? []) : []));
  const own = records.filter((record) => record.origin === "untrusted" && record.path === path);
  return new Set(own.flatMap(({ added }) => added ?? []));
}

const isMissing = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT";

/** The last change that wrote this line into the note; undefined when no record has it. */
export function originOf(records: readonly NoteRecord[], path: string, line: string): NoteRecord | undefined {
  const hash = lineHash(line);
  const own = records.filter((record) => record.path === path);
  return (
    own.findLast(({ added }) => added?.includes(hash) === true) ??
    own.findLast(({ added, tool }) => added === undefined && tool !== FORGET)
  );
}

/** The name of a person's command in the records. */
export const FORGET = "memory forget";

/** Lines of notes that were written by conversations which had read untrusted content; read again when the file has changed. */
export class UntrustedLines {
  readonly #file: string;
  #version = "";
  #records: readonly NoteRecord[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  /** Of a text of the note: the numbers of such lines, from 1, and where their content is from; undefined when there are none. */
  in(path: string, text: string): { readonly lines: readonly number[]; readonly sources: string } | undefined {
    this.#refresh();
    const own = this.#records.filter((record) => record.path === path);
    if (!own.some(({ origin }) => origin === "untrusted")) return undefined;
    const found = text.split("\n").flatMap((line, index) => {
      const record = line.trim() === "" ? undefined : originOf(own, path, line);
      return record?.origin === "untrusted" ? [{ number: index + 1, sources: record.sources ?? "unknown" }] : [];
    });
    if (found.length === 0) return undefined;
    return {
      lines: found.map(({ number }) => number),
      sources: [...new Set(found.map((one) => one.sources))].join(", "),
    };
  }

  #refresh(): void {
    const stat = statSync(this.#file, { throwIfNoEntry: false });
    const version = stat ? `${stat.mtimeMs} ${stat.size}` : "";
    if (version === this.#version) return;
    this.#records = stat ? readChanges(this.#file) : [];
    this.#version = version;
  }
}
