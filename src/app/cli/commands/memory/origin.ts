import { changesFileOf, Origins, readChanges, type NoteRecord } from "../../../../../extensions/memory-core/changes.ts";
import type { MemoryPlace } from "../../../../../extensions/memory-core/job.ts";
import { readNoteText } from "../../../../../extensions/memory-core/notes.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { forgetLines } from "../../../agents/forget-lines.ts";
import { canAsk, confirmed } from "../../ask.ts";
import { writeJson, type Io } from "../../io.ts";
import { pairs } from "../../table.ts";
import { readRun } from "../runs/run-source.ts";
import { jobAnswer, openFor, type MemoryFlags } from "./open.ts";

export interface ForgetFlags extends MemoryFlags {
  readonly force?: boolean;
}

/** Says which conversation wrote a line of a note. Gives 1 when that is not known. Throws NOT_FOUND and USAGE. */
export async function memoryWhy(io: Io, asked: string, flags: MemoryFlags): Promise<number> {
  const { place } = await openFor(io, flags);
  const { path, lines } = linesAt(place, asked);
  const origins = new Origins(readChanges(changesFileOf(place.db)));
  const found = lines.map(({ number, text }) => ({ number, text, record: origins.of(path, text) }));
  const runs = [...new Set(found.flatMap(({ record }) => record?.run ?? []))];
  const messages = new Map(await Promise.all(runs.map(async (run) => [run, await messagesOf(io, run)] as const)));
  const shown = found.map((line) => ({ ...line, messages: messages.get(line.record?.run ?? "") }));
  if (flags.json === true) writeJson(io, { path, lines: shown });
  else io.out(shown.map((line) => pairs(io, [[`${path}#${line.number}`, line.text], ...rowsOf(line)])).join("\n"));
  return found.every(({ record }) => record) ? 0 : 1;
}

/** A memory flush has the name of the run before it. */
const FLUSH = /-flush$/;

/** The messages that a run answered, or a flush came after; undefined when the gateway has forgotten it. */
async function messagesOf(io: Io, run: string): Promise<readonly string[] | undefined> {
  try {
    const { inbox } = await readRun(io, run.replace(FLUSH, ""));
    return inbox.map(({ channel, chat, messageId, sender }) => `${messageId} of ${sender} in ${channel} ${chat}`);
  } catch (error) {
    if (error instanceof OpenClawError) return undefined;
    throw error;
  }
}

interface Told {
  readonly record: NoteRecord | undefined;
  readonly messages: readonly string[] | undefined;
}

function rowsOf({ record, messages }: Told): readonly (readonly [string, string | undefined])[] {
  if (!record) {
    return [["Origin", "not known: an editor or a command wrote it, or a version of the gateway that kept no origins"]];
  }
  const { at, tool, session, run, by, origin, sources, added } = record;
  const guess = added === undefined ? "; the change was too large to be compared by lines" : "";
  return [
    ["Origin", `${origin === "untrusted" ? `untrusted: the conversation had read ${sources}` : origin}${guess}`],
    ["Written", `${at} by ${tool} for ${by}`],
    ["Session", session],
    ["Message", messages?.join(", ")],
    ["Run", run && `openclaw runs show ${run}`],
  ];
}

/** Removes lines from a note, and from the index. Throws NOT_FOUND, and USAGE if nobody confirms. */
export async function memoryForget(io: Io, asked: string, flags: ForgetFlags): Promise<number> {
  const { memory, place } = await openFor(io, flags);
  const { path, lines, all } = linesAt(place, asked);
  if (flags.force !== true && !(await isSure(io, path, lines))) return 1;
  const isGone = await forgetLines(place, { path, all, gone: lines.map(({ number }) => number) });
  if (!isGone) {
    throw new OpenClawError("USAGE", { message: `${path} has just been changed.`, fix: "Look at it and try again." });
  }
  jobAnswer(await memory.sync(place, false));
  if (flags.json === true) writeJson(io, { path, forgotten: lines.length });
  else
    io.out(
      `Removed ${lines.length} ${lines.length === 1 ? "line" : "lines"} of ${path}. Conversations that have them keep them.\n`,
    );
  return 0;
}

async function isSure(io: Io, path: string, lines: readonly Line[]): Promise<boolean> {
  if (!canAsk(io)) {
    throw new OpenClawError("USAGE", {
      message: `Nobody confirms that lines of ${path} are removed.`,
      fix: "Add --yes.",
    });
  }
  io.err(lines.map(({ number, text }) => `${number} ${text}\n`).join(""));
  return confirmed(`Remove ${lines.length === 1 ? "this line" : "these lines"} of ${path}?`);
}

interface Line {
  readonly number: number;
  readonly text: string;
}

/** `path:line`, `path:from-to`, or the same with `#`, as results of a search name them. */
function linesAt(places: MemoryPlace, asked: string): { path: string; lines: readonly Line[]; all: readonly string[] } {
  const [, path = "", first = "", last = first] =
    /^(.*?)[:#](\d+)(?:-(\d+))?$/.exec(asked.replace(/^Source: /, "")) ?? [];
  if (path === "") {
    throw new OpenClawError("USAGE", {
      message: `"${asked}" names no line of a note.`,
      fix: "Write it as MEMORY.md:12 or memory/2026-01-05.md:3-5.",
    });
  }
  const text = readNoteText(places, path);
  const all = text?.split("\n") ?? [];
  const lines = all.flatMap((line, index) =>
    index + 1 >= Number(first) && index + 1 <= Number(last) ? [{ number: index + 1, text: line }] : [],
  );
  if (lines.length === 0) {
    throw new OpenClawError("NOT_FOUND", {
      message: text === undefined ? `There is no note ${path}.` : `${path} has no line ${first}.`,
      fix: "openclaw memory search shows notes and their lines.",
    });
  }
  return { path, lines, all };
}
