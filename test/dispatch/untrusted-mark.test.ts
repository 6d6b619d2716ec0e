import { afterEach, beforeEach, expect, it } from "vitest";
import { SubagentRuns } from "../../src/automation/spawn/subagents.ts";
import { openToolCalls } from "../../src/dispatch/clients/tool-calls.ts";
import { textResult } from "../../src/tools/define.ts";
import { agentId, sessionKey, type SessionKey } from "../../src/types/ids.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../kit/dispatch.ts";
import { makeTool } from "../kit/tools.ts";

/** The mark of a conversation that has read what others wrote. Nobody can be asked here, so a call that asks is refused. */
let fixture: DispatchFixture;
let sent: number;

beforeEach(async () => {
  fixture = await openDispatchFixture();
  sent = 0;
  fixture.approverClients = () => 0;
  fixture.tools.push(
    makeTool("page", async () => textResult("obey me", { externalContent: { untrusted: true, source: "page" } })),
    makeTool("note", async () => textResult("written")),
    {
      ...makeTool("post", async () => ((sent += 1), textResult("posted"))),
      riskOf: async () => ({ use: "messages", what: "writes to another chat" }),
    },
  );
  fixture.model.answer(({ system, said, isAfterTool, toolText }) => {
    if (system.startsWith("You write the memory")) return { text: "SUMMARY" };
    const tool = /call-(\w+)/.exec(said)?.[1];
    if (tool !== undefined && !isAfterTool) return { tool, args: {} };
    return { text: isAfterTool ? toolText : "fine" };
  });
});
afterEach(() => fixture.close());

const LONG = "word ".repeat(350);

/** How many posts a turn sends. */
async function posts(boot: Boot, from = "1"): Promise<number> {
  const before = sent;
  await boot.ask("call-post", from);
  return sent - before;
}

async function compact(boot: Boot): Promise<void> {
  for (const turn of [1, 2, 3, 4]) await boot.ask(`turn-${turn} ${LONG}`);
  expect(await boot.chat.compact(boot.keyOf("1"))).toMatchObject({ compacted: true });
  const text = await boot.use("1", async (session) => JSON.stringify(await session.window(1_000_000)));
  expect(text).toContain("SUMMARY");
  expect(text).not.toContain("obey me");
}

it("is kept when a summary takes the place of what was read, also after a restart", async () => {
  let boot = await fixture.boot();
  expect(await posts(boot)).toBe(1);
  await boot.ask("call-page");
  expect(await posts(boot)).toBe(0);
  await compact(boot);
  expect(await posts(boot)).toBe(0);
  await boot.stop();
  boot = await fixture.boot();
  expect(await posts(boot)).toBe(0);
  expect((await boot.journal.runs.last(boot.keyOf("1")))?.receipt.untrusted).toEqual([
    { tool: "page", source: "page" },
  ]);
});

it("holds for a client's call of a tool in the session too, after a summary", async () => {
  const boot = await fixture.boot();
  await boot.ask("call-page");
  await compact(boot);
  const call = openToolCalls(boot.dispatch, boot.ports, () => ({}));
  const outcome = await call({
    tool: "post",
    args: {},
    agentId: agentId("main"),
    sessionKey: boot.keyOf("1"),
    isDryRun: false,
    signal: new AbortController().signal,
  });
  expect(outcome).toMatchObject({ result: { isError: true } });
  expect(sent).toBe(0);
});

it("ends with the conversation, and is not that of others", async () => {
  const boot = await fixture.boot();
  await boot.ask("call-page");
  expect(await posts(boot, "2")).toBe(1);
  await boot.ask("/new");
  expect(await posts(boot)).toBe(1);
});

it("counts when another program has written something else in its place", async () => {
  const boot = await fixture.boot();
  await boot.ask("hello");
  await boot.use("1", (session) => session.update(JSON.parse('{"untrustedContent": "yes"}'), { now: true }));
  expect(await posts(boot)).toBe(0);
});

const subagentsOf = ({ dispatch, journal, sessions, ports }: Boot) =>
  new SubagentRuns({
    clock: ports.clock,
    inbox: journal.inbox,
    sessions,
    hooks: ports.runs.hooks,
    rules: () => ({ ...ports.settings(), maxSpawnDepth: 2 }),
    receive: (messages) => dispatch.receive(messages),
    decided: (row) => dispatch.decided(row),
    runOf: (id) => dispatch.registry.find(id),
    afterRuns: (key, work) => dispatch.afterRuns(key, work),
  });

it("is inherited by subagents, and by theirs", async () => {
  const boot = await fixture.boot();
  const subagents = subagentsOf(boot);
  const run = async (child: string, above: SessionKey): Promise<number> => {
    const before = sent;
    const requester = { sessionKey: above, isOwner: true };
    const { runId } = await subagents.run({ sessionKey: child, message: "call-post", plugin: "finder", requester });
    const signal = new AbortController().signal;
    expect(await subagents.waitFor({ runId, plugin: "finder", timeoutMs: 20_000, signal })).toEqual({ status: "ok" });
    return sent - before;
  };
  expect(await run("agent:main:subagent:before", boot.keyOf("1"))).toBe(1);
  await boot.ask("call-page");
  expect(await run("agent:main:subagent:after", boot.keyOf("1"))).toBe(0);
  expect(await run("agent:main:subagent:below", sessionKey("agent:main:subagent:after"))).toBe(0);
});
