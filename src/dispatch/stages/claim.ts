import type { AgentId } from "../../types/ids.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { QueuedTurn } from "../queue/lane-task.ts";
import { agentGone, agentStopped, NOT_ANSWERED } from "../notices/chat-texts.ts";
import type { TurnPorts } from "../turn/ports.ts";
import type { StageEnd, Turn } from "../turn/turn.ts";
import type { Claim, Inbox, InboxRow } from "../../types/journal.ts";
import { runIdOf, turnIdOf } from "../turn-facts.ts";

/** Claims the messages for this process and acquires the session, if there is an agent that may answer. */
export async function claim(turn: Turn, ports: TurnPorts): Promise<StageEnd> {
  const { key, queued } = turn;
  const settings = ports.settings();
  const agentId = settings.agentOf(key);
  const agent = settings.agents.get(agentId);
  if (!agent) return refuseAgent(agentId, queued, ports);
  if (agent.stopped !== undefined) return refuseStopped(agent, agent.stopped, queued, ports);
  // The sync is requested before the claim, whose own sync need not be waited for.
  const stored = ports.storage.journal.inbox.synced();
  // A stage that changes the transcript gets the failure of the sync; a turn that ends before does not need it.
  stored.catch(() => undefined);
  const loaded = await loadRows(queued, ports);
  const taken = loaded && (await claimRows(loaded, { sessionKey: key, agentId }, ports.storage.journal.inbox));
  if (!taken) return leave(queued, ports);
  ports.shared.replies.acks.end(queued.rows.filter((row) => !taken.rows.includes(row)));
  turn.queued = taken;
  const session = await ports.storage.sessions.acquire(key);
  turn.atEnd(() => session.release());
  turn.set({ agent, session, stored });
  return mayAnswer(turn, ports) ? "next" : refuseSession(turn, ports);
}

/** Leaves messages that somebody ended while they waited. */
export function leave({ log, rows }: QueuedTurn, { shared: { replies } }: TurnPorts): StageEnd {
  replies.endLog(log, { kind: "aborted", by: "user" });
  replies.acks.end(rows);
  return "over";
}

async function refuseAgent(agent: AgentId, { rows, log }: QueuedTurn, ports: TurnPorts): Promise<StageEnd> {
  ports.log.warn("agent does not exist", { agent, inbox: rows.map((row) => row.id) });
  await ports.shared.replies.refuse(rows, log, agentGone(agent), `agent_gone: the agent "${agent}" no longer exists`);
  return "over";
}

/** Refuses messages of a stopped agent. Only owners get the config key that stops the agent. */
async function refuseStopped(
  { id }: AgentSettings,
  why: string,
  { rows, log }: QueuedTurn,
  ports: TurnPorts,
): Promise<StageEnd> {
  ports.log.warn("agent is stopped", { agent: id, why, inbox: rows.map((row) => row.id) });
  const { isOwner } = ports.settings();
  const forOwners = rows.every(({ message }) => message.options?.operator === true || isOwner(message));
  await ports.shared.replies.refuse(rows, log, agentStopped(id, forOwners ? why : undefined), `agent_stopped: ${why}`);
  return "over";
}

function mayAnswer(turn: Turn, { settings }: TurnPorts): boolean {
  const { sendPolicy } = turn.get("session").entry;
  const [row] = turn.queued.rows;
  if (sendPolicy !== undefined) return sendPolicy !== "deny";
  return row === undefined || settings().mayAnswer?.(turn.key, row.message.from) !== false;
}

/**
 * Ends messages of a session that is not answered. A chat gets no answer, as if there were no bot. A client, which
 * waits for an end, is informed, and so is a person who gave a command.
 */
async function refuseSession({ key, queued: { rows, log, text } }: Turn, ports: TurnPorts): Promise<StageEnd> {
  const {
    shared: { replies },
    storage: { journal },
  } = ports;
  const ids = rows.map((row) => row.id);
  ports.log.info("session is not answered", { session: key, inbox: ids });
  const why = `send_policy: the session ${key} is not to be answered`;
  if (log || text !== undefined) await replies.refuse(rows, log, NOT_ANSWERED, why);
  else {
    await journal.inbox.finish(ids, { kind: "dropped", why });
    replies.acks.end(rows);
  }
  return "over";
}

/**
 * Claims rows for this process before any work on them; the claim is synced while the model is asked, and before a tool
 * runs. Rows that have ended since are left out; undefined when none remain.
 */
async function claimRows(
  queued: QueuedTurn,
  place: Pick<Claim, "sessionKey" | "agentId">,
  inbox: Inbox,
): Promise<QueuedTurn | undefined> {
  const { text, ...rest } = queued;
  for (let rows = queued.rows; ;) {
    const [first] = rows;
    if (!first) return undefined;
    const claim = { ...place, runId: runIdOf(first), turnId: turnIdOf(first) };
    const taken = new Set(
      await inbox.claimAhead(
        rows.map(({ id }) => id),
        claim,
      ),
    );
    const isHead = first === queued.rows[0];
    if (taken.size === rows.length) return { ...rest, rows, ...(isHead && text !== undefined && { text }) };
    rows = rows.filter(({ id }) => taken.has(id));
  }
}

type LoadPorts = Pick<TurnPorts, "storage" | "kinds" | "log" | "shared">;

/**
 * Completes messages whose texts the journal does not have. Messages without anything to say end here; undefined when
 * none remain.
 */
export async function loadRows(queued: QueuedTurn, ports: LoadPorts): Promise<QueuedTurn | undefined> {
  if (queued.rows.every(({ message }) => ports.kinds.of(message).load === undefined)) return queued;
  const rows: InboxRow[] = [];
  for (const row of queued.rows) {
    const loaded = await loadRow(row, ports);
    if (loaded) rows.push(loaded);
  }
  return rows.length > 0 ? { ...queued, rows } : undefined;
}

async function loadRow(
  row: InboxRow,
  { storage: { journal }, kinds, log, shared: { replies } }: LoadPorts,
): Promise<InboxRow | undefined> {
  const { load } = kinds.of(row.message);
  if (!load) return row;
  const message = await load(row.message);
  if (!("dropped" in message)) return { ...row, message };
  log.info("dropped", { inbox: row.id, session: row.sessionKey, why: message.dropped });
  await journal.inbox.finish([row.id], { kind: "dropped", why: message.dropped });
  replies.acks.end([row]);
  return undefined;
}
