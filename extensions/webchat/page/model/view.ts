import { fileKind, shownFile } from "./files.ts";
import { ended } from "./exchanges.ts";
import type { Exchange } from "./exchanges.ts";
import { isSameJson } from "./json.ts";
import type { WaitingMessage } from "./waiting.ts";
import type { Part, TranscriptTurn } from "./transcript.ts";
import { t } from "../words/words.ts";

/** A turn on the screen: from the transcript, or from an exchange that is not in it yet. */
export interface DisplayedTurn extends TranscriptTurn {
  readonly delivery?: "queued" | "sending" | "failed" | "waiting" | undefined;
  /** The gateway's id of a message that waits. */
  readonly inboxId?: number | undefined;
  readonly deliveryError?: string | undefined;
  readonly live?: boolean | undefined;
  readonly phase?: string | undefined;
}

/** The turns of the transcript that belong to an exchange. */
interface Written {
  readonly user?: TranscriptTurn | undefined;
  readonly assistant?: TranscriptTurn | undefined;
}

/**
 * The turns of the transcript, of the exchanges that are not in it yet, and of the messages that wait, in order. Nothing is shown
 * twice.
 */
export function shownTurns(
  turns: readonly TranscriptTurn[],
  exchanges: readonly Exchange[],
  waiting: readonly WaitingMessage[] = [],
): readonly DisplayedTurn[] {
  if (exchanges.length + waiting.length === 0) return turns;
  const after = new Map<number, DisplayedTurn[]>();
  for (const exchange of exchanges) {
    const written = writtenTurns(exchange, turns);
    const index = indexOf(exchange, turns, written);
    const queued = waiting.find(({ runId }) => runId === exchange.runId);
    const shown =
      queued && isUnanswered(exchange) ? waitingTurns(exchange, queued) : unwritten(exchange, turns, written);
    after.set(index, [...(after.get(index) ?? []), ...shown]);
  }
  const known = new Set(exchanges.map(({ runId }) => runId));
  const others = waiting.filter(({ runId }) => !known.has(runId)).map(turnOfOthers);
  return [...(after.get(-1) ?? []), ...turns.flatMap((turn, index) => [turn, ...(after.get(index) ?? [])]), ...others];
}

const isUnanswered = ({ sent, reply }: Exchange): boolean => sent?.state === "accepted" && reply.state === "none";

function waitingTurns(exchange: Exchange, { id }: WaitingMessage): readonly DisplayedTurn[] {
  return exchange.sent === undefined
    ? []
    : [{ ...sentTurn(exchange, exchange.sent), delivery: "waiting", inboxId: id }];
}

/** A message that waits and that this page did not write, or that it wrote before it was reloaded. */
function turnOfOthers({ id, runId, text, files, at, sender }: WaitingMessage): DisplayedTurn {
  const names = files === 0 ? [] : [t("[file]|[{n} files]", { n: files })];
  const parts = [...names, ...(text === "" ? [] : [text])].map((one): Part => ({ kind: "text", text: one }));
  const place = { first: Infinity, last: Infinity, at, runIds: [runId] };
  return {
    id: `${runId}:user`,
    messageIds: [],
    role: "user",
    parts,
    ...place,
    sender,
    delivery: "waiting",
    inboxId: id,
  };
}

/** Whether the transcript has everything that the exchange shows, so that the exchange can be removed. */
export function isWritten(exchange: Exchange, turns: readonly TranscriptTurn[]): boolean {
  if (!ended(exchange.reply)) return false;
  const { assistant } = writtenTurns(exchange, turns);
  if (assistant === undefined) return exchange.reply.state === "final" && isEmpty(exchange, turns);
  return exchange.reply.state !== "error" || assistant.error !== undefined;
}

/** The transcript position of the last message of an exchange; 0 when there is none. */
export function endOf(exchange: Exchange, turns: readonly TranscriptTurn[]): number {
  const { user, assistant } = writtenTurns(exchange, turns);
  return Math.max(user?.last ?? 0, assistant?.last ?? 0);
}

/** Whether a message was stopped before its run began. The transcript does not have it; later messages are of other runs. */
export function isUnbegun({ sent, reply }: Exchange): boolean {
  return sent !== undefined && reply.state === "aborted" && reply.parts.length === 0;
}

/** How many turns at the beginning are the same objects in both lists. */
export function sameTurns(turns: readonly TranscriptTurn[], others: readonly TranscriptTurn[]): number {
  const first = turns.findIndex((turn, index) => turn !== others[index]);
  return first === -1 ? turns.length : first;
}

/** Turns as they were read, and as they are shown: each with its run. */
interface KnownTurns {
  readonly read: readonly TranscriptTurn[];
  readonly turns: readonly TranscriptTurn[];
}

/**
 * The turns, each with its run if this page saw that run or knew it at the last read. A turn that is as it was remains the same
 * object, so that it is not drawn again; those at the beginning that are the same objects as at the last read are not compared.
 */
export function withRuns(
  read: readonly TranscriptTurn[],
  exchanges: readonly Exchange[],
  before: KnownTurns,
): readonly TranscriptTurn[] {
  const same = sameTurns(read, before.read);
  const known = new Map(before.turns.slice(same).map((turn) => [turn.id, turn]));
  const runs = new Map<TranscriptTurn, readonly string[]>();
  for (const exchange of exchanges) {
    const { user, assistant } = writtenTurns(exchange, read);
    for (const turn of [user, assistant]) if (turn !== undefined) runs.set(turn, [exchange.runId]);
  }
  const later = read.slice(same).map((turn) => withRun(turn, runs.get(turn), known.get(turn.id)));
  const turns = [...before.turns.slice(0, same), ...later];
  // The transcript may have the messages of a run before the run ends.
  for (const [turn, runIds] of runs) {
    const at = read.indexOf(turn);
    if (at < same) turns[at] = withRun(turn, runIds, turns[at]);
  }
  return turns;
}

function withRun(
  turn: TranscriptTurn,
  runIds: readonly string[] | undefined,
  before: TranscriptTurn | undefined,
): TranscriptTurn {
  const now = turn.runIds.length > 0 ? turn : { ...turn, runIds: runIds ?? before?.runIds ?? [] };
  return before !== undefined && isSameJson(before, now) ? before : now;
}

function isEmpty(exchange: Exchange, turns: readonly TranscriptTurn[]): boolean {
  const sentIsThere = exchange.sent === undefined || writtenTurns(exchange, turns).user !== undefined;
  return sentIsThere && exchange.reply.parts.length === 0;
}

function writtenTurns(exchange: Exchange, turns: readonly TranscriptTurn[]): Written {
  const named = turns.filter((turn) => turn.runIds.includes(exchange.runId));
  const later = turns.filter((turn) => turn.last > exchange.anchor);
  const unnamed = later.filter((turn) => turn.runIds.length === 0);
  const user = named.find((turn) => turn.role === "user") ?? likelyUser(exchange, unnamed);
  const assistant = named.find((turn) => turn.role === "assistant");
  return { user, assistant: assistant ?? likelyAssistant(exchange, unnamed, user) };
}

function likelyUser(exchange: Exchange, later: readonly TranscriptTurn[]): TranscriptTurn | undefined {
  const users = later.filter((turn) => turn.role === "user" && turn.first > exchange.anchor);
  const { sent } = exchange;
  if (sent === undefined) return users.at(-1);
  const wanted = withSingleSpaces(sent.text);
  return users.find((turn) => {
    const written = withSingleSpaces(textOf(turn.parts));
    if (wanted === "") return turn.parts.some(({ kind }) => kind === "image" || kind === "file");
    // A command or a thinking level before the text is not in the transcript.
    return written.includes(wanted) || (written !== "" && wanted.endsWith(written));
  });
}

function likelyAssistant(
  exchange: Exchange,
  later: readonly TranscriptTurn[],
  user: TranscriptTurn | undefined,
): TranscriptTurn | undefined {
  if (isUnbegun(exchange) && user === undefined) return undefined;
  const from = user?.last ?? exchange.anchor;
  const next = later.find((turn) => turn.role === "assistant" && turn.last > from);
  if (next === undefined) return undefined;
  const isCommand = exchange.sent?.text.startsWith("/") === true;
  const reply = withSingleSpaces(textOf(exchange.reply.parts));
  if (isCommand && user === undefined) return withSingleSpaces(textOf(next.parts)).includes(reply) ? next : undefined;
  return next;
}

function textOf(parts: readonly Part[]): string {
  return parts.map((part) => (part.kind === "text" ? part.text : "")).join("\n");
}

function withSingleSpaces(value: string): string {
  return value.replace(/\s+/g, " ").trim();
}

function indexOf(exchange: Exchange, turns: readonly TranscriptTurn[], written: Written): number {
  const last = Math.max(
    written.user === undefined ? -1 : turns.indexOf(written.user),
    written.assistant === undefined ? -1 : turns.indexOf(written.assistant),
  );
  return last >= 0 ? last : turns.findLastIndex((turn) => turn.first <= exchange.anchor);
}

function unwritten(exchange: Exchange, turns: readonly TranscriptTurn[], written: Written): readonly DisplayedTurn[] {
  const shown: DisplayedTurn[] = [];
  if (exchange.sent !== undefined && written.user === undefined) shown.push(sentTurn(exchange, exchange.sent));
  const reply = replyTurn(exchange, turns, written);
  if (reply !== undefined) shown.push(reply);
  return shown;
}

function sentTurn(exchange: Exchange, sent: NonNullable<Exchange["sent"]>): DisplayedTurn {
  const files = sent.files.map((file): Part => {
    if (fileKind(file.mimeType) !== "image") return { kind: "file", file: shownFile(file) };
    return { kind: "image", src: `data:${file.mimeType};base64,${file.data}`, name: file.name };
  });
  const texts: readonly Part[] = sent.text === "" ? [] : [{ kind: "text", text: sent.text }];
  const delivery = sent.state === "accepted" ? undefined : sent.state;
  const base = { ...emptyTurn(exchange, "user"), parts: [...files, ...texts] };
  return { ...base, delivery, deliveryError: sent.error };
}

function replyTurn(exchange: Exchange, turns: readonly TranscriptTurn[], written: Written): DisplayedTurn | undefined {
  const { reply } = exchange;
  const waiting = reply.state === "none" && exchange.sent?.state === "accepted";
  const live = waiting || reply.state === "running";
  const parts = reply.parts.filter((part) => !isInTranscript(part, turns, written));
  const ending = reply.state === "error" || reply.state === "aborted";
  if (!live && !ending && parts.length === 0) return undefined;
  return {
    ...emptyTurn(exchange, "assistant"),
    parts,
    live,
    phase: reply.phase,
    usage: reply.usage,
    error: reply.error === undefined ? undefined : { text: reply.error, failure: reply.failure },
    aborted: reply.state === "aborted" ? true : undefined,
  };
}

function isInTranscript(part: Part, turns: readonly TranscriptTurn[], written: Written): boolean {
  if (part.kind === "tool") {
    return turns.some((turn) =>
      turn.parts.some((known) => known.kind === "tool" && known.id === part.id && part.id !== ""),
    );
  }
  if (part.kind !== "text" || written.assistant === undefined) return false;
  return withSingleSpaces(textOf(written.assistant.parts)).includes(withSingleSpaces(part.text));
}

function emptyTurn(exchange: Exchange, role: "user" | "assistant"): TranscriptTurn {
  const { runId, anchor, at } = exchange;
  return { id: `${runId}:${role}`, messageIds: [], role, parts: [], first: anchor, last: anchor, at, runIds: [runId] };
}
