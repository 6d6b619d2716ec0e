import type { InboxRow, Outcome, OutboxJournal } from "../../types/journal.ts";
import type { AnswerFilter } from "../../types/run/turn-kind.ts";
import type { RunEnd } from "../../harness/log/run-end.ts";
import type { AnswerTarget, EarlierAnswer } from "../answer/answer-target.ts";
import { answer } from "../answer/answer.ts";
import type { NoticeReader } from "../notices/chat-texts.ts";
import { commandFormOf, addressed } from "../chats.ts";
import { setBy } from "../directives/said.ts";
import { type ReasoningLevel, reasoningLevelOf } from "../../types/run/reasoning-level.ts";
import type { RefusedAttachment } from "../../types/run/run.ts";
import { privateNotes } from "../../tools/host/prompt-files.ts";
import { hasOwnerRights } from "../../types/run/principal.ts";
import { verboseLevelOf } from "../../types/run/verbose.ts";
import type { TurnPorts } from "../turn/ports.ts";
import { runEndOf, isUnfinished, runOutcomeOf, answerText } from "../answer/run-end.ts";
import type { StageEnd, Turn } from "../turn/turn.ts";

/**
 * Follows the run to its end and brings its answer to the chat. Rejects with the disk error that ended the run, if one
 * did.
 */
export async function answerTurn(turn: Turn, ports: TurnPorts): Promise<StageEnd> {
  const { run } = turn.get("active");
  const notAttached: RefusedAttachment[] = [];
  try {
    const outcome = await follow(turn, ports, (refusal) => notAttached.push(refusal));
    turn.set({ outcome, notAttached });
  } catch (error) {
    // The run holds the session until it has ended, even when its answer cannot be delivered.
    run.abort("shutdown");
    await run.stream.done;
    throw error;
  } finally {
    turn.get("typing").stop();
  }
  const diskError = run.diskError();
  if (diskError === undefined) return "next";
  // The lane waits for the disk and informs the chat. Recording this run would only wait for the same disk.
  await run.settle();
  throw diskError;
}

/** Channels are answered through the outbox. For web, HTTP and command line the transcript is the delivery. */
async function follow(
  turn: Turn,
  ports: TurnPorts,
  refused: (refusal: RefusedAttachment) => void,
): Promise<Outcome | "unfinished"> {
  const { run, barrier } = turn.get("active");
  const { kind, message: received, acting, agent, rows } = turn.get("prepared");
  const message = addressed(received);
  const filter = kind.filter?.(received, turn.get("session").entry, ports.clock.now());
  if (!message) return clientOutcome(await runEndOf(run), filter);
  const {
    chats: { outbox },
    storage: { media, closedPaths, journal },
    clock,
  } = ports;
  const inboxId = rows[0]?.id ?? 0;
  // A guest's answer brings no notes of private chats.
  const guestOf = hasOwnerRights(acting.principal) ? [] : [agent.workspace];
  const earlier = await earlierAnswer(rows[0], journal.outbox);
  const style = ports.settings().chat(message.from);
  return answer(
    run.stream,
    {
      inboxId,
      message,
      kind,
      agent,
      style,
      reader: () => readerOf(turn, ports),
      filter,
      earlier,
      session: turn.key,
      ...shownTo(turn, ports),
    },
    {
      outbox,
      media,
      closedPaths: [...closedPaths, ...privateNotes(guestOf)],
      guestOf,
      refused,
      clock,
      plannedRows: () => journal.outbox.of(inboxId),
      textPlanned: (callId) => barrier.release(callId),
    },
  );
}

/**
 * The reader of a notice. A provider's own words may name its account and its paths, so only an owner in a direct chat
 * gets them, or somebody who asked to see how the agent works.
 */
function readerOf(turn: Turn, ports: TurnPorts): NoticeReader {
  const { message, rows } = turn.get("prepared");
  const { isOwner } = ports.settings();
  const isAlone = message.from.chat.kind === "direct";
  const isOwners = isAlone && rows.every((row) => row.message.options?.operator === true || isOwner(row.message));
  const isVerbose = (shownTo(turn, ports).verbose?.() ?? "off") !== "off";
  return { form: commandFormOf(ports, message.from), isGuest: !isOwners && !isVerbose };
}

/**
 * The parts of a turn that people are shown besides its answer: as its messages say, else its session, else the agent.
 * A change of the session's level of verbosity holds at once.
 */
function shownTo(turn: Turn, ports: TurnPorts): Pick<AnswerTarget, "verbose" | "reasons" | "begins"> {
  const { kind, agent, rows, facts, isFirst } = turn.get("prepared");
  if (!kind.takesCommands) return {};
  const messages = rows.map(({ message }) => message);
  const { verbose, reasoning } = setBy(messages, turn.key, ports);
  const entry = () => ports.storage.sessions.peek(turn.key);
  return {
    verbose: () => verbose ?? verboseLevelOf(entry()?.verboseLevel) ?? agent.verbose ?? "off",
    ...(isFirst && { begins: facts.sessionId }),
    reasons: shownThoughts(reasoning ?? reasoningLevelOf(entry()?.reasoningLevel)),
  };
}

const shownThoughts = (level: ReasoningLevel | undefined) => (level === "off" ? undefined : level);

async function earlierAnswer(row: InboxRow | undefined, outbox: OutboxJournal): Promise<EarlierAnswer> {
  if (!row || row.attempts === 0) return { rows: [], previewId: undefined, previewLength: 0 };
  return {
    rows: await outbox.of(row.id),
    previewId: await outbox.previewOf(row.id),
    previewLength: await outbox.previewLengthOf(row.id),
  };
}

function clientOutcome({ result, texts }: RunEnd, filter: AnswerFilter | undefined): Outcome | "unfinished" {
  if (isUnfinished(result)) return "unfinished";
  return runOutcomeOf(result, filter === undefined || filter(answerText(texts)) !== "");
}
