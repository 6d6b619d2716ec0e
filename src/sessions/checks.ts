import { type FileHandle, readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { setMode } from "../store/disk.ts";
import type { Check, CheckResult } from "../types/check.ts";
import { DEFAULT_AGENT } from "../types/ids.ts";
import type { SessionRow } from "../types/session.ts";
import { faultOf } from "../utils/access-fault.ts";
import { sizeText } from "../utils/text/size-text.ts";
import { errorText } from "../utils/text/error-text.ts";
import { unlessMissing } from "../utils/missing.ts";
import { BackReader } from "./transcript/back-reader.ts";
import { BranchWalk } from "./transcript/branch-walk.ts";
import { TRANSCRIPT_VERSION } from "./transcript/entries.ts";
import { openOrMissing, readHeader } from "./transcript/prepare.ts";
import { readLine } from "./transcript/read-line.ts";
import { fileOf } from "./rows/row.ts";
import { readRows, type RowPlaces } from "./rows/read-rows.ts";
import { readRowsFile, rowsPath } from "./rows/rows-file.ts";

// The newest ones. More would not fit into the two seconds of a check.
const MAX_TRANSCRIPTS = 200;
const DIR_MODE = 0o700;
const FILE_MODE = 0o600;

/** The checks of the sessions of a state directory. They change nothing. */
export function checks(places: RowPlaces): Check[] {
  const { dir } = places;
  return [
    { id: "sessions.store", title: "sessions.json readable", run: () => checkStore(places) },
    { id: "sessions.transcripts", title: "Transcripts readable", run: (signal) => checkTranscripts(places, signal) },
    { id: "sessions.permissions", title: "Sessions private", run: () => checkModes(dir) },
  ];
}

async function checkStore(places: RowPlaces): Promise<readonly CheckResult[]> {
  const { dir } = places;
  const aside = (await names(dir)).filter((name) => name.startsWith("sessions.json.broken."));
  const left = aside.map((name): CheckResult => ({
    status: "warn",
    message: `An unreadable sessions.json was set aside as ${join(dir, name)}.`,
    fix: "Take what you need out of it, then move it elsewhere.",
  }));
  try {
    await readRowsFile(dir, DEFAULT_AGENT);
  } catch (error) {
    // A file that is sound and closed to this user is not to be set aside.
    if (await faultOf(error)) throw error;
    const why = errorText(error);
    return [
      {
        status: "fail",
        message: `${rowsPath(dir)} cannot be read: ${why}.`,
        fix: "Mend the file, or start the gateway: it sets the file aside and writes it anew.",
      },
      ...left,
    ];
  }
  const { size } = await readRows(places, DEFAULT_AGENT);
  return [{ status: "ok", message: size === 0 ? "No sessions yet." : `There are ${size} sessions.` }, ...left];
}

async function checkTranscripts(places: RowPlaces, signal: AbortSignal): Promise<readonly CheckResult[]> {
  const { dir } = places;
  const rows = await newestRows(places);
  const found: CheckResult[] = [];
  let looked = 0;
  for (const { key, entry } of rows.slice(0, MAX_TRANSCRIPTS)) {
    if (signal.aborted) break;
    looked += 1;
    const problem = await problemOf(fileOf(entry, dir));
    if (problem) found.push({ ...problem, message: `${key}: ${problem.message}` });
  }
  if (found.length > 0) return found;
  return [{ status: "ok", message: `${looked} of ${rows.length} transcripts looked at, all readable.` }];
}

async function newestRows(places: RowPlaces): Promise<SessionRow[]> {
  try {
    return [...(await readRows(places, DEFAULT_AGENT))]
      .map(([key, entry]) => ({ key, entry }))
      .sort((a, b) => b.entry.updatedAt - a.entry.updatedAt);
  } catch {
    // The check of the rows reports this.
    return [];
  }
}

async function problemOf(path: string): Promise<CheckResult | undefined> {
  const file = await openOrMissing(path, "r");
  if (!file) return { status: "warn", message: `${path} is missing.`, fix: "Restore it, or begin anew with /new." };
  try {
    const { size } = await file.stat();
    // The next message writes the header.
    if (size === 0) return undefined;
    const header = await readHeader(path);
    const last = await new BackReader(file, size).previous();
    if (!header && !(last && readLine(last).entries.length > 0)) {
      return {
        status: "fail",
        message: `${path} has no readable header.`,
        fix: "The next message sets it aside and begins anew.",
      };
    }
    if (header && header.version > TRANSCRIPT_VERSION) {
      return { status: "fail", message: `${path} has version ${header.version}.`, fix: "Update openclaw." };
    }
    if (last && readLine(last).isTorn) {
      return {
        status: "warn",
        message: `${path} ends in a torn line.`,
        fix: "The next message repairs it; nothing to do.",
      };
    }
    return await damageOf(file, path, header !== undefined);
  } finally {
    await file.close();
  }
}

/** Bytes at the end of each file that are read. */
const MOST_BYTES = 1024 * 1024;
const BLOCK_BYTES = 64 * 1024;
const NEWLINE = 10;

async function damageOf(file: FileHandle, path: string, hasHeader: boolean): Promise<CheckResult | undefined> {
  const walk = new BranchWalk(file, { end: (await file.stat()).size });
  while (walk.bytesRead <= MOST_BYTES) if (!(await walk.next())) break;
  const lost = await lostIn(file, walk, hasHeader);
  const odd = walk.odd.size > 0 ? [await oddText(file, [...walk.odd])] : [];
  if (lost.length === 0 && odd.length === 0) return undefined;
  if (lost.length === 0) return { status: "warn", message: `${path} is in order, but ${odd.join("")}`, fix: ODD_FIX };
  return {
    status: "warn",
    message: [`${path}: ${lost.join("; ")}; the rest is used.`, ...odd.map((one) => `Also ${one}`)].join(" "),
    fix: "Nothing is deleted. Restore the file from a backup while the gateway is stopped, or begin anew with /new.",
  };
}

/** What of a transcript is left out, with its lines. */
async function lostIn(file: FileHandle, walk: BranchWalk, hasHeader: boolean): Promise<readonly string[]> {
  const places = [...walk.damage];
  const torn = places.filter((place) => typeof place === "number" && !walk.odd.has(place) && !walk.long.has(place));
  const parents = places.filter((place) => typeof place === "string");
  const long = [...walk.long].map(async ([offset, bytes]) => {
    const lines = linesText(await linesAt(file, [offset]));
    return `${lines} of ${sizeText(bytes)} is too long to be read whole`;
  });
  return [
    ...(hasHeader ? [] : ["it has no readable header"]),
    ...(torn.length > 0 ? [`${linesText(await linesAt(file, torn.map(Number)))} cannot be read`] : []),
    ...(await Promise.all(long)),
    ...(parents.length > 0 ? [`${parentsText(parents.map(String))} missing or leads in a circle`] : []),
  ];
}

const parentsText = (ids: readonly string[]): string =>
  ids.length === 1 ? `the parent ${shownId(ids[0] ?? "")} is` : `each of the parents ${listed(ids.map(shownId))} is`;

// An id of another program may be anything.
const shownId = (id: string): string => JSON.stringify(id.slice(0, MOST_OF_ID)).slice(1, -1);
const MOST_OF_ID = 64;

const ODD_FIX = "Nothing to do: each reader mends or leaves out such values, and the file stays as it is.";
/** The most lines that a message names. */
const MOST_NAMED = 10;

/** Names the lines that have such values, so that a person can look at the lines. */
async function oddText(file: FileHandle, offsets: readonly number[]): Promise<string> {
  const lines = await linesAt(file, offsets);
  return `values of a wrong type are in ${linesText(lines)}.`;
}

const linesText = (lines: readonly number[]): string => `${lines.length === 1 ? "line" : "lines"} ${listed(lines)}`;

function listed(names: readonly (string | number)[]): string {
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
  return `${names.slice(0, MOST_NAMED).join(", ")}${more}`;
}

/** The numbers of the lines that begin at these bytes, the first line being 1. */
async function linesAt(file: FileHandle, offsets: readonly number[]): Promise<readonly number[]> {
  const wanted = new Set(offsets);
  const end = Math.max(...offsets);
  const found = wanted.has(0) ? [1] : [];
  let line = 1;
  for (let start = 0; start < end; start += BLOCK_BYTES) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(BLOCK_BYTES), 0, BLOCK_BYTES, start);
    const block = buffer.subarray(0, bytesRead);
    for (let at = block.indexOf(NEWLINE); at >= 0; at = block.indexOf(NEWLINE, at + 1)) {
      line += 1;
      if (wanted.has(start + at + 1)) found.push(line);
    }
  }
  return found;
}

async function checkModes(dir: string): Promise<readonly CheckResult[]> {
  if (process.platform === "win32") return [{ status: "skip", message: "Windows has no file modes." }];
  const paths = (await names(dir))
    .filter((name) => /\.jsonl|^sessions\.json/.test(name))
    .map((name) => join(dir, name));
  const open = (
    await Promise.all([looseMode(dir, DIR_MODE), ...paths.map((path) => looseMode(path, FILE_MODE))])
  ).flat();
  if (open.length === 0) return [{ status: "ok", message: "Only you can read the sessions." }];
  const isOurs = open.every(({ uid }) => uid === process.getuid?.());
  const shown = open.slice(0, 3).map(({ path }) => basename(path));
  return [
    {
      status: "warn",
      message: `Others can read ${shown.join(", ")} (${open.length} in all).`,
      fix: `Run: ${isOurs ? "" : "sudo "}chmod -R go= ${dir}`,
      ...(isOurs && {
        repair: {
          describe: `set ${open.length} modes under ${dir} to 0700 and 0600`,
          apply: async () => void (await Promise.all(open.map(({ path, mode }) => setMode(path, mode)))),
        },
      }),
    },
  ];
}

interface LooseMode {
  readonly path: string;
  /** The mode that the file should have. */
  readonly mode: number;
  readonly uid: number;
}

async function looseMode(path: string, mode: number): Promise<LooseMode[]> {
  const found = await unlessMissing(stat(path));
  return found && (found.mode & 0o077) !== 0 ? [{ path, mode, uid: found.uid }] : [];
}

const names = async (dir: string): Promise<string[]> => (await unlessMissing(readdir(dir))) ?? [];
