import { hasOwnerRights } from "../../types/run/principal.ts";
import type { Tool } from "../../types/run/tool.ts";
import type { Session } from "../../types/session.ts";
import { noteEarlierActs } from "../resume/earlier-acts.ts";
import { adoptUnansweredTurns, abandonTurn } from "../notices/unanswered-turns.ts";
import type { DispatchPorts } from "../ports.ts";
import { principalOf } from "../turn-facts.ts";
import type { TurnPorts } from "../turn/ports.ts";
import type { PreparedTurn } from "../prepared-turn.ts";
import type { StageEnd, Turn } from "../turn/turn.ts";
import { callsOf, isInterrupted } from "../../history/parts.ts";
import { unbegunCalls } from "../../harness/tools/tools.ts";
import type { InboxRow } from "../../types/journal.ts";
import { withRun } from "../../tools/lazy-tool.ts";
import { alignHistory } from "../../sessions/shown/given-history.ts";
import type { GivenHistory } from "../../types/chat/client-ask.ts";

/** Settles the remains of earlier turns in the conversation: unanswered turns, and sends that were not recorded. */
export async function reconcile(turn: Turn, ports: TurnPorts): Promise<StageEnd> {
  const prepared = turn.get("prepared");
  const session = turn.get("session");
  const turnId = prepared.turn.entryId;
  // From here on the transcript changes. After a power cut it must not be ahead of the journal.
  await untilStored(turn, ports);
  await prepared.kind.begin?.({ message: prepared.message, turnId }, session);
  const given = prepared.message.options?.client?.history;
  if (given) await takeHistory(session, turnId, given, ports);
  await noteGuests(prepared, session, ports);
  await adoptUnansweredTurns(session, turnId, { journal: ports.storage.journal, log: ports.log });
  await noteEarlierActs(prepared, session, ports);
  return "next";
}

/** Milliseconds after which a turn that waits for the disk lets others begin: it needs no processor meanwhile. */
const SLOW_DISK_MS = 3;

async function untilStored(turn: Turn, { clock }: Pick<TurnPorts, "clock">): Promise<void> {
  const cancel = clock.after(SLOW_DISK_MS, turn.passage.waits);
  try {
    await turn.get("stored");
  } finally {
    cancel();
  }
  // One sync may end the wait of many turns.
  await turn.passage.resumes();
}

/** The tools of a turn. Tools during which the process ended twice are withheld. */
export async function safeTools(
  { rows: [row], turn }: PreparedTurn,
  session: Session,
  { runs, log }: Pick<DispatchPorts, "runs" | "log">,
): Promise<Pick<DispatchPorts, "runs">> {
  const names = await withheldTools(session, turn.entryId, row);
  if (names.size > 0) log.warn("tools withheld", { inbox: row?.id, tools: [...names], why: "the process ended twice" });
  const safe = (all: readonly Tool[]) => withoutWithheld(all, names);
  const tools: typeof runs.tools = (...of) => {
    const set = runs.tools(...of);
    return { ...set, tools: safe(set.tools), on: (model) => safe(set.on(model)) };
  };
  return { runs: { ...runs, tools } };
}

/** Notes that a guest took part: guests' text stays out of the notes that all prompts contain, see `runMaintenance`. */
async function noteGuests(
  { rows }: PreparedTurn,
  session: Session,
  ports: Pick<DispatchPorts, "kinds" | "settings">,
): Promise<void> {
  if (session.entry.heardGuests === true || hasOwnerRights(principalOf(rows, ports))) return;
  await session.update({ heardGuests: true }, { now: true });
}

/** The number of processes that have tried a message: the first, and one more after that process ended during it. */
const TRIED_TWICE = 2;

/**
 * The names of the tools that a turn may no longer use: the process ended twice during this message while calls of
 * these tools were running. Empty for every other turn.
 */
async function withheldTools(
  session: Pick<Session, "after">,
  turnId: string,
  row: InboxRow | undefined,
): Promise<ReadonlySet<string>> {
  if ((row?.attempts ?? 0) < TRIED_TWICE) return new Set();
  const entries = (await session.after(turnId)) ?? [];
  const messages = entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
  const unbegun = unbegunCalls(entries);
  const seen = new Set(
    messages.flatMap((one) => (one.role === "toolResult" && !isInterrupted(one) ? [one.toolCallId] : [])),
  );
  const open = messages.flatMap(callsOf).filter(({ id }) => !seen.has(id) && !unbegun.has(id));
  return new Set(open.map(({ name }) => name));
}

/** The tools, of which the withheld ones only answer why they are not run. */
const withoutWithheld = (tools: readonly Tool[], names: ReadonlySet<string>): readonly Tool[] =>
  names.size === 0 ? tools : tools.map((tool) => (names.has(tool.name) ? withheld(tool) : tool));

const withheld = (tool: Tool): Tool =>
  withRun(tool, async () => {
    throw new Error(
      `${tool.name} is not run again for this message: the gateway ended twice while it ran. Answer without it, or say what is missing.`,
    );
  });

/** The most entries at the end of a conversation that are compared with a client's history. */
const MOST_COMPARED = 400;

/**
 * Makes the conversation begin as its client has it, before the client's turn: adds what the client brings and the
 * transcript lacks. The turns that a client of its own conversation has taken back stay in the file, as another branch.
 * Rejects when the transcript cannot be written.
 */
async function takeHistory(
  session: Session,
  turnId: string,
  { messages, isAll }: GivenHistory,
  { log }: Pick<DispatchPorts, "log">,
): Promise<void> {
  // An earlier process has begun the turn.
  if ((await session.after(turnId)) !== undefined) return;
  const { missing, left, isKnown } = alignHistory(messages, await session.newest(MOST_COMPARED));
  // What a summary replaced cannot be compared.
  if (!isKnown && (session.entry.compactionCount ?? 0) > 0) return;
  if (isAll && left !== undefined) {
    await abandonTurn(session, left, log, "the client took it back");
    await session.update({ totalTokensFresh: false }, { now: true });
  }
  for (const message of missing) await session.append({ type: "message", message });
  if (missing.length > 0) log.info("history of a client taken in", { session: session.key, messages: missing.length });
}
