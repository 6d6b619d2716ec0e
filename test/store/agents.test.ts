import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openJournal } from "../../src/store/journal/journal.ts";
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
