import { TOO_MANY_STARTS } from "../../dispatch/notices/chat-texts.ts";
import { toolKeyPrefix } from "../../tools/message/message-result.ts";
import type { InboxRow, OutboxRow, RunRecord } from "../../types/journal.ts";
import type { InboundMessage, Peer } from "../../types/chat/message.ts";
import { modelName } from "../../types/run/model.ts";
import { principalText } from "../../types/run/principal.ts";
import { removedText } from "../../types/tool-policy.ts";
import { refusedText, toolErrorText, type FileFate, type Receipt } from "../../types/run/run.ts";
import { unaskedText } from "../../types/run/unasked.ts";
import { sourcesText } from "../../types/run/untrusted.ts";
import { kindNameOf } from "../../types/run/turn-kind.ts";
import type { StoryStep } from "../../types/answers/messages.ts";
import { describeOutcome } from "./act.ts";
import type { MessageSource } from "../../store/journal/read-only.ts";

/** The steps of a message, in chronological order. */
export function stepsOf(facts: MessageFacts): readonly StoryStep[] {
  const steps = [
    received(facts.row),
    ...admission(facts.row),
    ...offered(facts),
    ...session(facts.row),
    ...queue(facts),
    ...files(facts),
    ...runSteps(facts),
    ...facts.replies.map(reply),
    end(facts),
    ...facts.again.map(runAgain),
  ];
  return inOrder(steps);
}

/** The steps of a chunk that answers no message, or a message that is no longer kept. */
export function stepsOfSent(row: OutboxRow): readonly StoryStep[] {
  const { to, inboxId, createdAt } = row;
  const cause =
    inboxId === undefined ? originOf(row) : `an answer to the message of row ${inboxId}, which is not kept any more`;
  return [{ step: "planned", text: `${cause}, for ${placeOf(to)}`, at: createdAt }, reply(row)];
}

/** Prefixes of the keys of replies that answer no message. */
const ORIGINS: readonly (readonly [name: string, origin: string])[] = [
  ["send:", "sent for an operator (message send)"],
  ["gap:", "the gateway's word of what the chat may miss"],
];

const originOf = ({ replyKey }: OutboxRow): string =>
  ORIGINS.find(([name]) => replyKey.startsWith(name))?.[1] ?? `the gateway's own (${replyKey})`;

function placeOf({ channel, account, chat, thread }: Peer): string {
  return `${channel}/${account}, ${chat.kind} chat ${chat.id}${thread === undefined ? "" : `, thread ${thread}`}`;
}

/** Sorts by time; a step without a time stays after the one before it. */
function inOrder(steps: readonly StoryStep[]): readonly StoryStep[] {
  let last = 0;
  const timed = steps.map((step) => {
    last = step.at ?? last;
    return { at: last, step };
  });
  return timed.toSorted((a, b) => a.at - b.at).map(({ step }) => step);
}

const timed = (at: number | undefined) => (at === undefined ? {} : { at });

function received({ id, message, acceptedAt, againOf }: InboxRow): StoryStep {
  const { from, sender } = message;
  const who = sender.name === undefined ? sender.id : `${sender.name} (${sender.id})`;
  const copy = againOf === undefined ? "" : `; run again for an operator, first as row ${againOf}`;
  const text = `message ${message.id} of ${who} on ${placeOf(from)}, as row ${id}${copy}`;
  return { step: "received", text, at: acceptedAt ?? message.receivedAt };
}

function offered({ seen, lastSeenAt }: MessageFacts): readonly StoryStep[] {
  if (seen < 2) return [];
  return [
    {
      step: "offered",
      text: `seen ${seen} times: the platform offered it again, it was taken once`,
      ...timed(lastSeenAt),
    },
  ];
}

function admission({ message, refused, outcome, sessionKey, doneAt }: InboxRow): readonly StoryStep[] {
  const why = outcome && "why" in outcome ? outcome.why : "";
  const step = "admission" as const;
  if (refused === "history")
    return [{ step, text: `heard, kept as context, not to be answered: ${why}`, ...timed(doneAt) }];
  if (refused !== undefined) return [{ step, text: `not let in: ${why}`, ...timed(doneAt) }];
  if (message.options?.operator === true) return [{ step, text: `let in: ${ownWords(message)}` }];
  if (sessionKey !== undefined || outcome?.kind === "command") return [{ step, text: "let in" }];
  return [];
}

const ownWords = ({ options }: InboundMessage): string =>
  kindNameOf(options) !== "message" ? "the gateway itself woke the agent" : "an operator's own";

function session({ sessionKey, runId, claimedAt, attempts, starts }: InboxRow): readonly StoryStep[] {
  if (sessionKey === undefined) return [];
  const again = attempts > 1 ? `, taken up again by ${attempts - 1} later start${attempts > 2 ? "s" : ""}` : "";
  const run = runId === undefined ? "" : `, run ${runId}`;
  return [{ step: "session", text: `session ${sessionKey}${run}${again}`, ...timed(starts?.[0] ?? claimedAt) }];
}

function queue({ row, others }: MessageFacts): readonly StoryStep[] {
  const { outcome } = row;
  if (outcome?.kind === "merged" || outcome?.kind === "steered")
    return [{ step: "queue", text: describeOutcome(outcome) }];
  if (others.length === 0) return [];
  const named = others.map(({ id, outcome: end }) => `${id}${end?.kind === "steered" ? " (steered)" : ""}`);
  return [{ step: "queue", text: `its turn has the messages of other rows too: ${named.join(", ")}` }];
}

/** The outcome of the message's own files, from the receipt of its run. */
function files({ row, run }: MessageFacts): readonly StoryStep[] {
  const own = (run?.receipt.files ?? []).filter(({ inboxId }) => inboxId === row.id);
  return own.map((file) => ({ step: "file", text: fileStep(file) }));
}

function fileStep({ kind, name, bytes, tries, durationMs, why }: FileFate): string {
  const what = name === undefined ? kind : `${name.replaceAll(/[\s\p{Cc}]+/gu, " ")} (${kind})`;
  const effort = `${tries === 1 ? "" : `${tries} tries in `}${durationMs} ms`;
  return why === undefined
    ? `${what}: fetched, ${bytes} bytes, ${effort}`
    : `${what}: not available, ${effort}: ${why}`;
}

function runSteps({ row, run }: MessageFacts): readonly StoryStep[] {
  const broken = brokenStarts(row);
  if (run) return [...broken, ...stepsOfRun(run)];
  if (row.runId === undefined || row.outcome?.kind === "dropped") return [];
  if (isGivenUp(row)) return broken;
  return [
    ...broken,
    { step: "run", text: "of its run nothing is recorded: it goes on, broke off, or is older than what is kept" },
  ];
}

const isGivenUp = ({ outcome }: InboxRow): boolean => outcome?.kind === "failed" && outcome.why === TOO_MANY_STARTS;

/** Starts that ended with the gateway's process: all but the last, which answered the message or gave up. */
function brokenStarts(row: InboxRow): readonly StoryStep[] {
  const { attempts, starts = [] } = row;
  const broken = attempts - 1;
  if (broken < 1) return [];
  // Rows of older versions have only the number of starts.
  if (starts.length < attempts)
    return [{ step: "run", text: `started ${times(broken)}; the gateway's process ended before the turn did` }];
  return starts.slice(0, broken).map((at, index) => ({
    step: "run" as const,
    text: `start ${index + 1}: the gateway's process ended before the turn did`,
    at,
  }));
}

const times = (count: number): string => (count === 1 ? "once" : `${count} times`);

/** Whether the sender of an abandoned message was informed. */
function informedOf({ row: { message }, replies }: MessageFacts): string {
  if (message.options?.operator === true) return "the client that follows the run was informed";
  if (replies.some(({ state }) => state === "sent")) return "its chat was informed";
  if (replies.some(({ state }) => state === "planned" || state === "sending")) return "its chat is being informed";
  return "its chat was not informed";
}

const forWhom = ({ principal }: Receipt): string => (principal ? ` for ${principalText(principal)}` : "");

function stepsOfRun({ at, receipt, result }: RunRecord): readonly StoryStep[] {
  const { usage, calls, durationMs, model } = receipt;
  const tokens = `${usage.input + usage.cacheRead + usage.cacheWrite} tokens in, ${usage.output} out`;
  const cost = `$${usage.cost.total.toFixed(4)}`;
  return [
    { step: "run", text: `the run began${forWhom(receipt)}`, at: at - durationMs },
    ...duringRun(receipt).map((text) => ({ step: "run" as const, text })),
    {
      step: "run",
      text: `the run ended: ${result}; ${modelName(model)}, ${calls} call${calls === 1 ? "" : "s"}, ${tokens}, ${cost}, ${durationMs} ms`,
      at,
    },
  ];
}

function duringRun({
  tries = [],
  skipped = [],
  tools = [],
  lastToolError,
  engineDegraded,
  untrusted,
  unasked = [],
  removed = [],
  notAttached = [],
}: Receipt): readonly string[] {
  return [
    ...skipped.map((one) => `not asked: ${modelName(one.model)}${keyOf(one)}: ${one.why}`),
    ...tries.map((one) => {
      const words = one.message === undefined ? "" : `: ${one.message}`;
      const then = one.remedy === undefined ? "" : `; then ${one.remedy}`;
      return `asked ${modelName(one.model)}${keyOf(one)}: ${one.outcome} after ${one.durationMs} ms${words}${then}`;
    }),
    ...tools.map(({ name, calls, failed, ms }) => `tool ${name}: ${calls} calls, ${failed} failed, ${ms} ms`),
    ...(lastToolError ? [`last tool error: ${toolErrorText(lastToolError)}`] : []),
    ...unasked.map(unaskedText),
    ...removed.map(removedText),
    ...notAttached.map(refusedText),
    ...(untrusted ? [`has read untrusted content: ${sourcesText(untrusted)}`] : []),
    ...(engineDegraded === undefined ? [] : [`the context engine was not used: ${engineDegraded}`]),
  ];
}

const keyOf = ({ profile }: { profile?: string | undefined }): string =>
  profile === undefined ? "" : ` (key ${profile})`;

const STATES: Readonly<Record<OutboxRow["state"], string>> = {
  planned: "waits to be sent",
  sending: "is being sent",
  sent: "was sent",
  unknown: "may have arrived",
  failed: "was given up",
};

function reply(row: OutboxRow): StoryStep {
  const { id, part, state, messageId, error, isRepeat, attempts, editOf, sentAt, createdAt, inboxId = 0 } = row;
  const more = [
    row.replyKey.startsWith(toolKeyPrefix(inboxId)) ? "by the message tool" : [],
    messageId === undefined ? [] : `message ${messageId}`,
    editOf === undefined ? [] : "an edit of its preview",
    isRepeat === true ? "a possible repeat" : [],
    attempts > 1 ? `${attempts} tries` : [],
    error === undefined ? [] : error,
  ].flat();
  const details = more.length === 0 ? "" : `: ${more.join(", ")}`;
  return {
    step: "reply",
    text: `reply row ${id}, part ${part + 1}, ${STATES[state]}${details}`,
    at: sentAt ?? createdAt,
  };
}

function end(facts: MessageFacts): StoryStep {
  const { row, replies } = facts;
  const { outcome, doneAt, state } = row;
  if (isGivenUp(row)) {
    const text = `given up: started ${times(row.attempts - 1)}, and the process ended each time before the turn did; ${informedOf(facts)}`;
    return { step: "end", text, ...timed(doneAt) };
  }
  if (outcome) {
    const isLost = outcome.kind === "replied" && replies.length > 0 && replies.every((one) => one.state === "failed");
    const text = isLost ? "it was answered, but nothing of the answer was sent" : describeOutcome(outcome);
    return { step: "end", text, ...timed(doneAt) };
  }
  if (state === "done") return { step: "end", text: "it has ended" };
  const where =
    state === "accepted" ? "it waits for its turn, or for the gateway to look at it" : "its turn has not ended";
  return { step: "end", text: `no outcome yet: ${where}` };
}

const runAgain = ({ id, acceptedAt }: InboxRow): StoryStep => ({
  step: "again",
  text: `an operator had it run again, as row ${id}`,
  ...timed(acceptedAt),
});

/** The journal's facts about one message. */
export interface MessageFacts {
  readonly row: InboxRow;
  /** Times that the platform offered the message. */
  readonly seen: number;
  readonly lastSeenAt?: number;
  readonly run?: RunRecord;
  /** The other messages of the message's turn. */
  readonly others: readonly InboxRow[];
  readonly replies: readonly OutboxRow[];
  /** Rows of the message's later runs that an operator requested. */
  readonly again: readonly InboxRow[];
}

export async function messageFacts(journal: MessageSource, row: InboxRow): Promise<MessageFacts> {
  const { messages, runs, inbox, outbox } = journal;
  const [seen, again, own, turn, run, ofTurn] = await Promise.all([
    messages.seen(row.message),
    messages.againOf(row.id),
    messages.outboxOf(row.id),
    row.runId === undefined ? [] : inbox.ofRun(row.runId),
    row.runId === undefined ? undefined : runs.find(row.runId),
    row.runId === undefined ? [] : outbox.ofRun(row.runId),
  ]);
  const replies = [...new Map([...own, ...ofTurn].map((one) => [one.id, one])).values()];
  return {
    row,
    seen: seen?.times ?? 1,
    ...(seen?.lastAt !== undefined && { lastSeenAt: seen.lastAt }),
    ...(run && { run }),
    others: turn.filter((other) => other.id !== row.id),
    replies: replies.toSorted((a, b) => a.id - b.id),
    again,
  };
}
