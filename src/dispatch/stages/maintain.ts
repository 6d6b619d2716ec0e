import { partText } from "../../outbox/render.ts";
import { keyOfChat } from "../../sessions/chat-of.ts";
import { toolKeyPrefix } from "../../tools/message/message-result.ts";
import { type SessionKey, runId } from "../../types/ids.ts";
import { hasOwnerRights } from "../../types/run/principal.ts";
import { wrapUntrusted } from "../../utils/text/untrusted.ts";
import type { OutboxRow, Journal } from "../../types/journal.ts";
import type { Peer } from "../../types/chat/message.ts";
import { isSameChat } from "../chats.ts";
import { abandonTurn } from "../notices/unanswered-turns.ts";
import type { TurnPorts } from "../turn/ports.ts";
import { runEndOf, answerText } from "../answer/run-end.ts";
import type { TurnSlot } from "../queue/lane-task.ts";
import type { StageEnd, Turn } from "../turn/turn.ts";
import { FLUSH_SYSTEM_PROMPT, flushMemory, isFlushDue, mayFlush, type Flushed } from "../../harness/flush.ts";
import { costsOf } from "../../harness/log/run-log.ts";
import type { Run } from "../../harness/run.ts";
import { RISKY_USES } from "../../types/run/untrusted.ts";
import type { ModelRef } from "../../types/run/model.ts";
import type { Session } from "../../types/session.ts";
import { noteCompaction, type Compactions } from "../maintenance/compactions.ts";
import { logRun } from "../turn/log-run.ts";
import type { PreparedTurn } from "../prepared-turn.ts";
import { requestFor, runDepsOf } from "../turn/request.ts";
import { MEMORY_FLUSH } from "../turn-kinds.ts";

/** Ends the turn as its kind says; then memory flush and compaction, while this turn still holds the session. */
export async function maintain(turn: Turn, ports: TurnPorts): Promise<StageEnd> {
  const prepared = turn.get("prepared");
  const session = turn.get("session");
  const { run, candidates } = turn.get("active");
  await endAsKind(turn, ports);
  await tellOthers(turn, ports);
  if (prepared.kind.maintenance === "full")
    await runMaintenance({ prepared, session, run, candidates, slot: turn.slot }, ports);
  return "over";
}

/**
 * Adds the messages that the message tool sent to other chats to the conversations of these chats, so that the agent
 * knows there what it has said.
 */
async function tellOthers(
  turn: Turn,
  { storage: { journal, sessions }, shared: { replies }, settings }: TurnPorts,
): Promise<void> {
  const { message, rows, acting } = turn.get("prepared");
  if (turn.get("outcome") === "unfinished") return;
  const { keyFor, defaultAgent } = settings();
  const all = await Promise.all(rows.map(async ({ id }) => sentByTool(id, await journal.outbox.of(id))));
  const elsewhere = all.flat().filter(({ to }) => !isSameChat(to, message.from));
  const { key: own } = turn.get("session");
  const isOwners = hasOwnerRights(acting.principal);
  const keyOf = (to: Peer): SessionKey => {
    const said = { id: "", eventKey: "", text: "", media: [], mentionsBot: true, receivedAt: 0 };
    return keyOfChat(to, keyFor({ ...said, from: to, sender: { id: to.chat.id } }), { sessions, defaultAgent });
  };
  for (const [key, parts] of Map.groupBy(elsewhere, ({ to }) => keyOf(to))) {
    if (key === own || !sessions.peek(key)) continue;
    const words = parts.map(shown).join("\n");
    // A guest may have said what to write.
    const said = isOwners ? words : wrapUntrusted(words, { label: "Message", from: "a guest's conversation" });
    const content = `[Message] From another conversation you have written to this chat:\n\n${said}`;
    replies.notes.sentFrom(own, key, { customType: "openclaw.message", content });
  }
}

const sentByTool = (inboxId: number, rows: readonly OutboxRow[]): readonly OutboxRow[] =>
  rows.filter(({ replyKey, state }) => replyKey.startsWith(toolKeyPrefix(inboxId)) && state !== "failed");

function shown({ body }: OutboxRow): string {
  const files = body.kind === "media" ? [body.media, ...(body.more ?? [])] : [];
  return [...files.map(({ name, kind }) => `[file ${name ?? kind}]`), partText(body)]
    .filter((line) => line !== "")
    .join("\n");
}

async function endAsKind(
  turn: Turn,
  { clock, storage: { journal }, log, shared: { replies } }: TurnPorts,
): Promise<void> {
  const { message, rows, turn: entry, kind } = turn.get("prepared");
  const outcome = turn.get("outcome");
  if (!kind.end || outcome === "unfinished") return;
  const { run, usedAt } = turn.get("active");
  const { texts } = await runEndOf(run);
  const messages = rows.map((row) => row.message);
  const ended = { message, messages, turnId: entry.entryId, outcome, text: answerText(texts), usedAt };
  await kind.end(ended, turn.get("session"), {
    now: () => clock.now(),
    addEvent: (key, text) => journal.events.add(key, text),
    async abandon(session, turnId, why) {
      // After a power cut the journal must not resume a turn that the transcript has left out.
      await journal.inbox.synced();
      await abandonTurn(session, turnId, log, why);
    },
    note: (key, note) => replies.notes.sentFromOther(key, note),
  });
}

export interface EndedTurn {
  readonly prepared: PreparedTurn;
  readonly session: Session;
  readonly run: Run;
  readonly candidates: readonly ModelRef[];
  readonly slot: Pick<TurnSlot<Run>, "stopping" | "stoppedBy">;
}

/**
 * Post-turn maintenance, while the turn still holds the session so that the next turn cannot interfere: a memory flush,
 * then compaction, then reminders for the next turn. Never rejects.
 */
async function runMaintenance(turn: EndedTurn, ports: TurnPorts): Promise<void> {
  const { prepared, session, run } = turn;
  const { closing } = ports.shared.compactions;
  const stop = () => run.abort("shutdown");
  closing.addEventListener("abort", stop, { once: true });
  if (closing.aborted) stop();
  try {
    await reportDamage(session, chatOf(prepared), ports);
    await flush(turn, ports);
    await compactAfterTurn(turn, ports);
    const entry = await ports.shared.compactions.addReminders(session, prepared.turn.entryId, prepared.agent);
    if (entry) await ports.shared.compactions.notify(session, { entry, to: chatOf(prepared) });
  } catch (error) {
    // The turn has its outcome. Maintenance is due again after the next turn.
    ports.log.error("post-turn maintenance failed", { session: session.key, error });
  } finally {
    closing.removeEventListener("abort", stop);
  }
}

const chatOf = ({ message }: PreparedTurn) =>
  message.options?.operator === true ? message.options.deliverTo : message.from;

async function compactAfterTurn(
  { prepared, session, run }: EndedTurn,
  { shared: { compactions } }: TurnPorts,
): Promise<void> {
  const { facts } = prepared;
  const tell = compactions.publisherFor(session);
  const tally = compactions.costs.open(runId(`${facts.runId}-compact`), facts);
  const done = await run.compactWhenFull((event) => {
    for (const cost of costsOf(event)) tally.add(cost);
    tell(event);
  });
  await tally.close(done?.kind);
  if (done?.kind === "done") await noteCompaction(session, done.tokensAfter);
}

async function flush(turn: EndedTurn, ports: TurnPorts): Promise<void> {
  const { prepared, session, candidates, slot } = turn;
  const { closing } = ports.shared.compactions;
  const settings = prepared.agent.compaction?.memoryFlush;
  // Notes go into files that all prompts contain, so no text of guests may get into them automatically.
  if (mayHoldGuests(prepared, session)) return;
  // An engine that compacts saves its own notes.
  if (!settings || turn.run.ownsCompaction() || (await isOverOrUnanswered(turn, closing))) return;
  const fill = await turn.run.fill();
  if (!fill || !isFlushDue(fill, prepared.agent) || cannotNote(prepared, session, ports)) return;
  const extra = settings.systemPrompt ?? FLUSH_SYSTEM_PROMPT;
  const request = requestFor(ownTurn(prepared), session, ports, { candidates, extra });
  if (!mayFlush({ entry: session.entry, tools: request.tools }, prepared.agent)) return;
  // After a power cut the transcript must not have the flush of a turn that the journal would resume.
  await ports.storage.journal.inbox.synced();
  const facts = { ...request.facts, runId: runId(`${request.facts.runId}-flush`), trigger: MEMORY_FLUSH.trigger };
  const log = ports.log.with({ run: facts.runId, session: session.key });
  const flushed = await flushMemory({
    request: { ...request, facts },
    session,
    deps: {
      ...runDepsOf(ports),
      models: ports.runs.models.of(facts.agentId),
      log,
      approvals: { ask: async () => "unattended" },
      spentAfterEnd: ports.shared.compactions.costs.afterRun(facts),
    },
    settings,
    signal: AbortSignal.any([slot.stopping, closing]),
    stoppedBy: () => (closing.aborted || slot.stoppedBy === "shutdown" ? "shutdown" : "user"),
    began: (stream) => logRun(stream, ports.log),
  });
  log.info("memory flush", { ended: flushed.kind });
  await recordFlush(flushed, { session, id: facts.runId }, ports);
}

async function isOverOrUnanswered({ run, slot }: EndedTurn, closing: AbortSignal): Promise<boolean> {
  return (await run.stream.done).kind !== "replied" || slot.stopping.aborted || closing.aborted;
}

/** Whether the conversation may have text of guests: in a group anybody may have written. */
const mayHoldGuests = ({ message }: PreparedTurn, { entry }: Session): boolean =>
  entry.heardGuests === true || (message.options?.operator !== true && message.from.chat.kind === "group");

/**
 * Whether notes would be refused because nobody can be asked, or would be in the folder of a sandbox, where the memory
 * does not look.
 */
function cannotNote(
  { agent, acting }: PreparedTurn,
  { entry }: Pick<Session, "entry">,
  { runs: { tools } }: Pick<TurnPorts, "runs">,
): boolean {
  const { confirmUntrusted = RISKY_USES } = agent.tools;
  const isAsked = entry.untrustedContent !== undefined && confirmUntrusted.includes("prompt-files");
  return isAsked || tools(agent, acting).writesAside === true;
}

/** The flush has its own entry id, so that it is not taken for the turn before it. */
const ownTurn = (prepared: PreparedTurn): PreparedTurn => ({
  ...prepared,
  turn: { ...prepared.turn, entryId: `${prepared.turn.entryId}-flush` },
});

/** Records a flush. It happens once between two compactions, but again if it was interrupted. */
async function recordFlush(
  { kind, result, receipt }: Flushed,
  { session, id }: { session: Session; id: ReturnType<typeof runId> },
  { storage: { journal }, clock }: TurnPorts,
): Promise<void> {
  const { entry } = session;
  const at = clock.now();
  const { input, output } = receipt.usage;
  await session.update({
    inputTokens: (entry.inputTokens ?? 0) + input,
    outputTokens: (entry.outputTokens ?? 0) + output,
    ...(kind !== "interrupted" && { memoryFlushCompactionCount: entry.compactionCount ?? 0, memoryFlushAt: at }),
  });
  const ended = result.kind === "failed" ? `failed:${result.failure.kind}` : result.kind;
  await journal.runs.record({
    runId: id,
    sessionKey: session.key,
    agentId: session.agentId,
    at,
    receipt,
    result: ended,
  });
}

interface DamagePorts {
  readonly storage: { readonly journal: Pick<Journal, "values"> };
  readonly shared: { readonly compactions: Pick<Compactions, "sendNotice"> };
}

const DAMAGED =
  "A part of this conversation can no longer be read, so I do not know what was said there. Nothing was deleted. The operator can find the file with `openclaw doctor`.";

/**
 * Informs the chat once that a part of its conversation cannot be read, and again when a further part is damaged.
 * Rejects when the journal or the transcript cannot be written.
 */
async function reportDamage(session: Session, to: Peer | undefined, ports: DamagePorts): Promise<void> {
  const places = session.damagedPlaces;
  if (places === 0) return;
  const key = `transcript-damage:${session.id}`;
  if (Number((await ports.storage.journal.values.get(key)) ?? 0) >= places) return;
  await ports.shared.compactions.sendNotice(
    session,
    { key: `damage:${session.id}:${places}`, text: DAMAGED, because: "error" },
    to,
  );
  await ports.storage.journal.values.set(key, String(places));
}
