import { join } from "node:path";
import { SessionManager } from "@mariozechner/pi-coding-agent";
import { readdirSync } from "node:fs";
import { entriesOf, exportOf, fileOf, outcomesOf, sessionsOf, textOf } from "../kit/gateway/state-files.ts";
import { test, type World } from "../kit/gateway/world.ts";

const FIELDS = [
  "abortedLastRun",
  "authProfileOverride",
  "authProfileOverrideSource",
  "channel",
  "chatType",
  "compactionCount",
  "contextTokens",
  "displayName",
  "groupId",
  "heardGuests",
  "inputTokens",
  "label",
  "lastAccountId",
  "lastChannel",
  "lastHeartbeatSentAt",
  "lastHeartbeatText",
  "lastThreadId",
  "lastTo",
  "memoryFlushAt",
  "memoryFlushCompactionCount",
  "modelOverride",
  "origin",
  "outputTokens",
  "providerOverride",
  "queueMode",
  "reasoningLevel",
  "sessionFile",
  "sessionId",
  "spawnedBy",
  "subject",
  "systemSent",
  "thinkingLevel",
  "totalTokens",
  "totalTokensFresh",
  "updatedAt",
  "verboseLevel",
];

/** Tools, failures, aborts, a reset, three people and a group. */
async function walkAbout(world: World): Promise<void> {
  const { telegram } = world;
  world.model.answer((call) => {
    if (call.said.endsWith("list the files") && !call.isAfterTool) return { tool: "ls", args: {} };
    if (call.said.endsWith("break now")) return { status: 401, message: "no" };
    if (call.said.endsWith("hang")) return "hang";
    return { text: `done with ${call.messages.length} messages, ünïcode 🦞 and "quotes"\u2028too` };
  });
  const say = async (text: string, id: number) => {
    const before = telegram.shown(id).length;
    telegram.say(text, { from: { id, first_name: `P${id}` } });
    await telegram.waitFor(() => telegram.shown(id).length > before);
  };
  await say("hello", 1001);
  await say("list the files", 1001);
  await say("break now", 1001);
  await say("go on", 1001);
  await say("hello there", 1002);
  await say("/new", 1002);
  await say("after the reset", 1002);
  const calls = world.model.calls.length;
  telegram.say("hang", { from: { id: 1003, first_name: "P1003" } });
  await world.model.called(calls + 1);
  await say("/stop", 1003);
  await say("and now", 1003);
  const group = { id: -100_700, type: "supergroup", title: "Team" };
  telegram.say("@test_bot hello", { chat: group, more: { message_thread_id: 9, is_topic_message: true } });
  await world.told("done with", group.id);
}

/** From the first entry to the last line: what a person took back hangs beside it. */
function branchOf(entries: ReturnType<typeof entriesOf>): ReturnType<typeof entriesOf> {
  const branch: ReturnType<typeof entriesOf>[number][] = [];
  for (let entry = entries.at(-1); entry;) {
    branch.unshift(entry);
    const { parentId } = entry;
    entry = parentId == null ? undefined : entries.find((other) => other.id === parentId);
  }
  return branch;
}

test("pi opens every transcript of a busy walk and reads the same messages, and the rows of sessions.json have the documented fields", async ({
  world,
  expect,
}) => {
  const { home, gateway } = await world.start({ channels: { telegram: { groups: { "*": {} } } } });
  await walkAbout(world);
  await outcomesOf(home, 11);
  expect(await gateway.kill()).toBe(0);

  const rows = sessionsOf(home);
  const keys = Object.keys(rows);
  expect(keys).toHaveLength(4);
  let tools = 0;
  for (const [key, row] of Object.entries(rows)) {
    const file = fileOf(home, row);
    const entries = entriesOf(file);
    expect(entries[0], key).toMatchObject({ type: "session", version: 3, id: row.sessionId });
    const ours = branchOf(entries).flatMap((entry) =>
      entry.type === "message" && entry.message ? [entry.message] : [],
    );
    const context = SessionManager.open(file).buildSessionContext();
    const show = (message: unknown): unknown => JSON.parse(JSON.stringify(message));
    expect(context.messages.map(show), key).toEqual(ours.map(show));
    const ids = entries.slice(1).map((entry) => entry.id);
    expect(new Set(ids).size).toBe(ids.length);
    tools += ours.filter((message) => message.role === "toolResult").length;
  }
  expect(tools).toBe(1);

  const sessionsDir = join(home.stateDir, "sessions");
  const archived = readdirSync(sessionsDir).filter((name) => name.includes(".jsonl.reset."));
  expect(archived).toHaveLength(1);
  const old = entriesOf(join(sessionsDir, archived[0]!)).flatMap((entry) => entry.message ?? []);
  expect(old.map((message) => message.role)).toEqual(["user", "assistant"]);
  expect(textOf(old[0]?.content)).toContain("hello there");
  expect(readdirSync(sessionsDir).filter((name) => /tmp|torn|corrupt/.test(name))).toEqual([]);

  const exported = exportOf(home);
  expect(Object.keys(exported).toSorted()).toEqual(keys.toSorted());
  for (const row of Object.values(exported)) {
    for (const name of Object.keys(row)) expect(FIELDS).toContain(name);
    expect(row.sessionId).toMatch(/^[\w-]{8,}$/);
    expect(Date.now() - Number(row["updatedAt"])).toBeLessThan(60_000);
  }
  const person = exported[Object.keys(exported).find((key) => key.endsWith(":1001"))!]!;
  expect(person).toMatchObject({
    chatType: "direct",
    channel: "telegram",
    lastChannel: "telegram",
    lastTo: expect.stringContaining("1001"),
    lastAccountId: "default",
    inputTokens: expect.any(Number),
    outputTokens: expect.any(Number),
    totalTokens: expect.any(Number),
    totalTokensFresh: true,
    contextTokens: expect.any(Number),
    systemSent: true,
  });
  expect(Number(person["inputTokens"])).toBeGreaterThan(0);
  const group = exported[Object.keys(exported).find((key) => key.includes(":group:"))!]!;
  expect(["group", "thread"]).toContain(group["chatType"]);
  expect(group).toMatchObject({ channel: "telegram", lastThreadId: "9", subject: "Team" });
});
