import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { compact } from "../../src/harness/compaction/compact.ts";
import type { RunEvent } from "../../src/types/run/events.ts";
import { replay } from "../../src/history/replay.ts";
import { historyMethods } from "../../src/server/methods/history.ts";
import { readHistory } from "../../src/sessions/transcript/history.ts";
import { readBackTo } from "../../src/sessions/transcript/read-back.ts";
import { systemClock } from "../../src/types/clock.ts";
import { recordLog } from "../kit/log.ts";
import { eventsOf, openRunFixture, userTurn, type RunFixture } from "../kit/run.ts";
import { oddTranscripts } from "../kit/store/odd-transcript.ts";
import { openFile } from "../kit/store/transcript-file.ts";
import { CATALOG } from "../kit/server/server.ts";
import { MemorySessions } from "../kit/server/memory-sessions.ts";
import { ScriptedChat } from "../kit/server/scripted-chat.ts";
import { fill } from "../peers/real-gateway/row.ts";
import { ROWS } from "../peers/real-gateway/rows/all.ts";
import { REFS, wire, type WireApi } from "../harness/wire/wires.ts";

/** For each API. */
const COUNT = 4000;
const PATIENCE_MS = 30 * 60_000;
const APIS = ["openai-completions", "anthropic-messages", "openai-responses"] as const;

describe("a transcript with values of another type", () => {
  it.each(APIS)("%s: ends no turn, no compaction, no replay and no page", { timeout: PATIENCE_MS }, async (api) => {
    const fixture = await openRunFixture();
    const dir = await mkdtemp(join(tmpdir(), "odd-"));
    const path = join(dir, "odd.jsonl");
    const failed: string[] = [];
    try {
      for (const { name, file } of oddTranscripts({ count: COUNT }, "odd", { api, ...REFS[api] })) {
        await writeFile(path, file);
        const wrong = await useOf(path, api, fixture).catch((error: unknown) => [
          String(error instanceof Error ? error.stack : error),
        ]);
        if (!(await readFile(path, "utf8")).startsWith(file)) wrong.push("the file is another one");
        failed.push(...wrong.map((one) => `${name}: ${one}`));
      }
    } finally {
      await fixture.close();
      await rm(dir, { recursive: true, force: true });
    }
    expect(failed).toEqual([]);
  });
});

/** What is wrong after a turn, a compaction, a look at the page and a replay of the turn. Rejects where one of them does. */
async function useOf(path: string, api: WireApi, fixture: RunFixture): Promise<string[]> {
  const { models, faults } = wire(fixture.model);
  const conversation = await openFile(path, recordLog());
  // The prompt's texts are not looked at.
  const texts = { put: async () => "key", get: async () => undefined };
  const choice = { models, candidates: [REFS[api]], thinking: "low" as const };
  const turn = async (id: string): Promise<readonly RunEvent[]> =>
    eventsOf(fixture.start({ ...choice, texts, conversation, turn: userTurn("and now", id) }).stream);
  const events = await turn("now-1");
  const handle = await models.find(REFS[api]);
  if ("missing" in handle) throw new Error(handle.missing);
  const done = await compact({
    conversation,
    summarizers: [handle],
    window: 100_000,
    settings: { reserveTokens: 1000, keepRecentTokens: 50, timeoutMs: 60_000 },
    origin: { cause: "compaction" },
    clock: systemClock,
    signal: new AbortController().signal,
    why: "asked",
    emit: () => undefined,
  });
  const next = await turn("now-2");
  await pageOf(path);
  const [record] = events.flatMap((event) => (event.type === "prompt" ? [event.record] : []));
  const { firstEntryId: firstId = "", lastEntryId: lastId = "", hasSummary = false } = record ?? {};
  const entries = (await readBackTo(path, { firstId, lastId, hasSummary })) ?? [];
  const again = record && replay(record, entries, REFS[api]);
  await conversation.close();
  return [
    ...[events, next].flatMap((one) => (isAnswered(one) ? [] : [JSON.stringify(one.at(-1))])),
    ...(done.kind === "done" || done.kind === "nothing" ? [] : [`the compaction was ${done.kind}`]),
    ...(again?.faithful === true ? [] : [`the replay is another one: ${again?.why}`]),
    ...faults(),
  ];
}

const isAnswered = (events: readonly RunEvent[]): boolean =>
  events.some((event) => event.type === "run_end" && event.result.kind === "replied");

const client = { id: "test", version: "1", platform: "test", mode: "test" };

async function pageOf(path: string): Promise<void> {
  const sessions = new MemorySessions();
  sessions.add("odd", (await readHistory(path, 1000)).entries);
  const media = {
    path: () => "",
    read: () => Promise.reject(new Error("no such file")),
    put: () => Promise.reject(new Error("no")),
    typeOf: () => Promise.reject(new Error("no")),
  };
  const chat = new ScriptedChat(() => undefined);
  const answers = new Map([["chat.history", { messages: [{}, { __openclaw: { id: "entry0" } }] }]]);
  for (const method of historyMethods({ chat, sessions, media, catalog: CATALOG }, { runTexts: new Map() })) {
    const rows = ROWS.filter((row) => row.method === method.name);
    if (rows.length === 0) throw new Error(`no request of the list has the method ${method.name}`);
    for (const row of rows) {
      const params = { ...Object(fill(row.params ?? {}, answers)), sessionKey: "odd" };
      JSON.stringify(await method.run(params, { connId: "1", scopes: new Set<string>(), client }));
    }
  }
}
