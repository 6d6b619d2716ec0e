import {
  FLUSH_SYSTEM_PROMPT,
  flushMemory,
  isFlushDue,
  mayFlush,
  type Flushed,
} from "../../harness/compaction/flush.ts";
import { costsOf } from "../../harness/log/log.ts";
import type { Run } from "../../harness/run.ts";
import { runId } from "../../types/ids.ts";
import { RISKY_USES } from "../../types/run/untrusted.ts";
import type { ModelRef } from "../../types/run/model.ts";
import type { Session } from "../../types/session.ts";
import { noteCompaction, type Compactions } from "./compactions.ts";
import { logRun } from "../turn/log-run.ts";
import type { DispatchPorts } from "../ports.ts";
import type { PreparedTurn } from "../turn/prepared-turn.ts";
import { requestFor } from "../turn/request.ts";
import type { TurnSlot } from "../turn/turn.ts";
import { MEMORY_FLUSH } from "../turn-kinds/table.ts";
import type { Journal } from "../../types/journal.ts";
import type { Peer } from "../../types/chat/message.ts";

export interface EndedTurn {
  readonly prepared: PreparedTurn;
  readonly session: Session;
  readonly run: Run;
  readonly candidates: readonly ModelRef[];
  readonly slot: Pick<TurnSlot, "stopping" | "stoppedBy">;
}

export interface MaintenancePorts extends DispatchPorts {
  readonly compactions: Compactions;
}

/**
 * Post-turn maintenance, while the turn still holds the session so that the next turn cannot interfere: a memory flush, then
 * compaction, then reminders for the next turn. Never rejects.
 */
export async function runMaintenance(turn: EndedTurn, ports: MaintenancePorts): Promise<void> {
  const { prepared, session, run } = turn;
  const { closing } = ports.compactions;
  const stop = () => run.abort("shutdown");
  closing.addEventListener("abort", stop, { once: true });
  if (closing.aborted) stop();
  try {
    await reportDamage(session, chatOf(prepared), ports);
    await flush(turn, ports);
    await compactAfterTurn(turn, ports);
    const entry = await ports.compactions.addReminders(session, prepared.turn.entryId, prepared.agent);
    if (entry) await ports.compactions.notify(session, { entry, to: chatOf(prepared) });
  } catch (error) {
    // The turn has its outcome. Maintenance is due again after the next one.
    ports.log.error("post-turn maintenance failed", { session: session.key, error });
  } finally {
    closing.removeEventListener("abort", stop);
  }
}

const chatOf = ({ message }: PreparedTurn) =>
  message.options?.operator === true ? message.options.deliverTo : message.from;

async function compactAfterTurn(
  { prepared, session, run }: EndedTurn,
  { compactions }: MaintenancePorts,
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

async function flush(turn: EndedTurn, ports: MaintenancePorts): Promise<void> {
  const { prepared, session, candidates, slot } = turn;
  const { closing } = ports.compactions;
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
  await ports.journal.inbox.synced();
  const facts = { ...request.facts, runId: runId(`${request.facts.runId}-flush`), trigger: MEMORY_FLUSH.trigger };
  const log = ports.log.with({ run: facts.runId, session: session.key });
  const flushed = await flushMemory({
    request: { ...request, facts },
    session,
    deps: {
      ...ports,
      models: ports.models.of(facts.agentId),
      log,
      approvals: { ask: async () => "unattended" },
      spentAfterEnd: ports.compactions.costs.afterRun(facts),
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

/** In a group anybody may have written. */
const mayHoldGuests = ({ message }: PreparedTurn, { entry }: Session): boolean =>
  entry.heardGuests === true || (message.options?.operator !== true && message.from.chat.kind === "group");

/** Notes would be refused because nobody can be asked, or be in the folder of a sandbox, where the memory does not look. */
function cannotNote(
  { agent, acting }: PreparedTurn,
  { entry }: Pick<Session, "entry">,
  { tools }: Pick<MaintenancePorts, "tools">,
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
  { journal, clock }: MaintenancePorts,
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
  readonly journal: Pick<Journal, "values">;
  readonly compactions: Pick<Compactions, "sendNotice">;
}

const DAMAGED =
  "A part of this conversation can no longer be read, so I do not know what was said there. Nothing was deleted. The operator can find the file with `openclaw doctor`.";

/**
 * Informs the chat once that a part of its conversation cannot be read, and again when a further part is damaged. Rejects when
 * the journal or the transcript cannot be written.
 */
async function reportDamage(session: Session, to: Peer | undefined, ports: DamagePorts): Promise<void> {
  const places = session.damagedPlaces;
  if (places === 0) return;
  const key = `transcript-damage:${session.id}`;
  if (Number((await ports.journal.values.get(key)) ?? 0) >= places) return;
  await ports.compactions.sendNotice(
    session,
    { key: `damage:${session.id}:${places}`, text: DAMAGED, because: "error" },
    to,
  );
  await ports.journal.values.set(key, String(places));
}
