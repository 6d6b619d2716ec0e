import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { openJournal } from "../../src/store/journal/journal.ts";
import { openJournalToRead } from "../../src/store/journal/read-only.ts";
import { MIGRATIONS } from "../../src/store/database/schema.ts";
import { ofAgent } from "../../src/types/run/agent-filter.ts";
import { accountId, agentId, channelId, runId, sessionKey } from "../../src/types/ids.ts";
import { emptyUsage } from "../../src/types/run/usage.ts";

async function place(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "openclaw-agents-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return join(dir, "journal.sqlite");
}

const receipt = { model: { provider: "p", id: "m" }, usage: emptyUsage(), calls: 1, durationMs: 1 };
const run = (id: string, agent?: string) => ({
  runId: runId(id),
  sessionKey: sessionKey("a:b:c"),
  at: 1,
  result: "replied",
  receipt,
  ...(agent !== undefined && { agentId: agentId(agent) }),
});

/** The place of the version that made rows name their agents. */
const BEFORE = MIGRATIONS.findIndex((sql) => sql.includes("runs_agent"));

test("rows of older versions get the agents that their keys and model calls name", async () => {
  const path = await place();
  const db = new DatabaseSync(path);
  for (const sql of MIGRATIONS.slice(0, BEFORE)) db.exec(sql);
  db.exec(`PRAGMA user_version = ${BEFORE}`);
  const put = db.prepare(
    "INSERT INTO runs (run_id, session_key, at, result, receipt, input, output, cost) VALUES (?, ?, ?, 'replied', ?, 0, 0, 0)",
  );
  const keys = { of: "agent:owl:telegram:default:1", by: "telegram:default:1::fox:child", no: "telegram:default:1" };
  for (const [at, [id, key]] of Object.entries(keys).entries()) put.run(id, key, at, JSON.stringify(receipt));
  db.exec(`INSERT INTO model_calls
    (state, boot, at, day, cause, provider, model, profile, agent, run_id, is_priced, held_tokens, held_cost, held_input, held_output)
    VALUES ('settled', 'b', 1, 'd', 'message', 'p', 'm', 'k', 'fox', 'by', 0, 0, 0, 0, 0)`);
  db.exec(`INSERT INTO inbox (message, state, session_key, run_id) VALUES ('{}', 'done', '${keys.by}', 'by')`);
  db.exec(`INSERT INTO cron_jobs VALUES ('j', '{"agentId":"owl"}', '{}')`);
  db.exec(`INSERT INTO cron_runs VALUES ('e', 'j', NULL, 1, 'ok', 'delivered', NULL, '{"jobId":"j"}')`);
  db.close();
  const journal = await openJournalToRead(path);
  onTestFinished(() => journal.close());
  const ids = async (agent: string) =>
    (await journal.runs.recent(9, ofAgent(agent, "main"))).map((found) => [found.runId, found.agentId]);
  expect(await ids("owl")).toEqual([["of", "owl"]]);
  expect(await ids("fox")).toEqual([["by", "fox"]]);
  expect(await ids("main")).toEqual([["no", undefined]]);
  expect(await journal.messages.inboxRows(9, { agentId: "fox" })).toMatchObject([{ runId: "by", agentId: "fox" }]);
  const rows = new DatabaseSync(path, { readOnly: true });
  expect(rows.prepare("SELECT agent FROM cron_runs").all()).toMatchObject([{ agent: "owl" }]);
  rows.close();
});

test("runs, messages, replies and jobs are found by their agent", async () => {
  const journal = await openJournal({ path: await place(), bootId: "b" });
  onTestFinished(() => journal.close());
  for (const agent of ["owl", "fox", undefined]) await journal.runs.record(run(`run-${agent}`, agent));
  const idsOf = async (agent: string) => (await journal.runs.recent(9, ofAgent(agent, "main"))).map((row) => row.runId);
  expect(await idsOf("owl")).toEqual(["run-owl"]);
  expect(await idsOf("main")).toEqual(["run-undefined"]);
  const from = { channel: channelId("x"), account: accountId("default"), chat: { kind: "direct" as const, id: "1" } };
  for (const agent of ["owl", "fox"]) {
    const message = { id: agent, eventKey: agent, from, sender: { id: "1" }, text: "", media: [], mentionsBot: true };
    const [accepted] = await journal.inbox.accept([{ ...message, receivedAt: 1 }]);
    const claim = { sessionKey: sessionKey("k"), agentId: agentId(agent), runId: runId(`of-${agent}`), turnId: "t" };
    await journal.inbox.claim([accepted?.row.id ?? 0], claim);
  }
  const rows = await journal.messages.inboxRows(9, { agentId: "owl" });
  expect(rows.map((row) => [row.message.id, row.agentId])).toEqual([["owl", "owl"]]);
  expect(await journal.messages.inboxRows(9, { agentId: "owl", channel: "y" })).toEqual([]);
});
