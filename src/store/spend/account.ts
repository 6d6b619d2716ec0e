import type { AccountRequest, SpendAccount } from "../../types/spend/ledger.ts";
import { defined } from "../../utils/defined.ts";
import { textOr } from "../journal/columns.ts";
import type { Statements } from "../journal/sqlite.ts";

// Several messages can be one turn; the first decides whose it is.
const MESSAGE = `
  SELECT message ->> '$.options.cron.jobId' AS job, message ->> '$.options.subagent.parent' AS parent,
    CASE WHEN message ->> '$.options.kind' IS NULL AND message ->> '$.options.operator' IS NULL
      THEN (message ->> '$.from.channel') || ':' || coalesce(message ->> '$.sender.e164', message ->> '$.sender.id') END AS sender
  FROM inbox WHERE run_id = ? ORDER BY id LIMIT 1`;
const OF_RUN = "SELECT root, root_session, job, sender FROM model_calls WHERE run_id = ? ORDER BY id DESC LIMIT 1";
const OF_SESSION =
  "SELECT root, root_session, job, sender FROM model_calls WHERE session_key = ? ORDER BY id DESC LIMIT 1";

/** What a call draws from besides its own agent and session. */
type Roots = Pick<SpendAccount, "root" | "rootSession" | "job" | "sender">;

/** Whose budgets a call draws from: by its run's earlier calls, else by the message of its run. */
export function accountOf(sql: Statements, { agentId, sessionKey, runId }: AccountRequest): SpendAccount {
  const own = { agent: agentId, session: sessionKey };
  const known = runId === undefined ? undefined : rootsIn(sql, OF_RUN, runId);
  const roots = known ?? fromMessage(sql, runId, sessionKey);
  return defined({ ...own, rootSession: sessionKey, root: runId, ...roots });
}

function rootsIn(sql: Statements, statement: string, value: string): Roots | undefined {
  const row = sql.one(statement, value);
  if (!row) return undefined;
  const [root, rootSession] = [textOr(row, "root"), textOr(row, "root_session")];
  return defined({ root, rootSession, job: textOr(row, "job"), sender: textOr(row, "sender") });
}

/** A subagent is part of the tree that the last run of its parent's session is part of: that run started it. */
function fromMessage(sql: Statements, runId: string | undefined, session: string | undefined): Roots {
  const row = runId === undefined ? undefined : sql.one(MESSAGE, runId);
  const parent = row && textOr(row, "parent");
  if (parent !== undefined && parent !== session) return { rootSession: parent, ...rootsIn(sql, OF_SESSION, parent) };
  return row ? defined({ job: textOr(row, "job"), sender: textOr(row, "sender") }) : {};
}
