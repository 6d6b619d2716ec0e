import type { InboundMessage } from "../../types/chat/message.ts";
import type { AccountRequest, SpendAccount } from "../../types/spend/ledger.ts";
import { defined } from "../../utils/defined.ts";
import { anyJson, textOr } from "../journal/columns.ts";
import { readMessage } from "../journal/inbox/read-message.ts";
import type { Row, Statements } from "../journal/sqlite.ts";

// Several messages can be one turn; the first decides whose it is.
const MESSAGE = "SELECT message FROM inbox WHERE run_id = ? ORDER BY id LIMIT 1";
const OF_RUN =
  "SELECT session_key, root, root_session, job, sender FROM model_calls WHERE run_id = ? ORDER BY id DESC LIMIT 1";
const OF_SESSION =
  "SELECT session_key, root, root_session, job, sender FROM model_calls WHERE session_key = ? ORDER BY id DESC LIMIT 1";

/** What a call draws from besides its own agent and session. */
type Roots = Pick<SpendAccount, "root" | "rootSession" | "job" | "sender">;

/** Whose budgets a call draws from: by its run's earlier calls, else by the message of its run. */
export function accountOf(sql: Statements, { agentId, sessionKey, runId }: AccountRequest): SpendAccount {
  const own = { agent: agentId, session: sessionKey };
  const known = runId === undefined ? undefined : sql.one(OF_RUN, runId);
  const roots = known ? rootsIn(known) : fromMessage(sql, runId, sessionKey);
  return defined({ ...own, rootSession: sessionKey, root: runId, ...roots });
}

const rootsIn = (row: Row): Roots =>
  defined({
    root: textOr(row, "root"),
    rootSession: textOr(row, "root_session"),
    job: textOr(row, "job"),
    sender: textOr(row, "sender"),
  });

/** A turn that another run brought about is part of that run's tree, and draws from the budgets of whoever began it. */
function fromMessage(sql: Statements, runId: string | undefined, session: string | undefined): Roots {
  const row = runId === undefined ? undefined : sql.one(MESSAGE, runId);
  if (!row) return {};
  const { message } = readMessage(anyJson(row, "message"), 0);
  const { subagent, broughtBy, cron } = message.options ?? {};
  const parent = subagent?.parent;
  const isBelow = parent !== undefined && parent !== session;
  const by = runBefore(sql, broughtBy, isBelow ? parent : undefined);
  if (!by) return isBelow ? { rootSession: parent } : defined({ job: cron?.jobId, sender: senderOf(message) });
  const { rootSession, ...roots } = rootsIn(by);
  // A message to another session counts in the conversation that it is written to.
  const isSameTree = isBelow || textOr(by, "session_key") === session;
  return isSameTree ? defined({ ...roots, rootSession }) : roots;
}

/** The name of a person who wrote, on whatever channel; undefined for a turn that nobody wrote for. */
function senderOf({ from, sender, options }: InboundMessage): string | undefined {
  if (options?.kind !== undefined || options?.operator !== undefined) return undefined;
  return `${from.channel}:${sender.e164 ?? sender.id}`;
}

/** The newest call of the run that brought the turn about; of a subagent's parent, where a person asked for it. */
function runBefore(sql: Statements, by: string | undefined, parent: string | undefined): Row | undefined {
  const found = by === undefined ? undefined : sql.one(OF_RUN, by);
  return found ?? (parent === undefined ? undefined : sql.one(OF_SESSION, parent));
}
