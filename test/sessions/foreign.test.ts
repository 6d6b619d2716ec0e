import { appendFile, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checks } from "../../src/sessions/checks.ts";
import { openSessions } from "../../src/sessions/sessions.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import type { Sessions } from "../../src/types/session.ts";
import { recordLog } from "../kit/log.ts";
import { journalBeside, tableOf } from "../kit/store/session-table.ts";
import { openStateDir, type StateDir } from "../kit/store/state-dir.ts";
import { ALL, answer, say, texts } from "../kit/store/transcript-file.ts";
import { TRANSCRIPTS, type Foreign } from "../kit/store/foreign-transcripts.ts";

const KEY = sessionKey("telegram:default:8001");
let dir: string;
let path: string;
let remove: StateDir["remove"];
const opened: Sessions[] = [];

beforeEach(async () => {
  ({ dir, remove } = await openStateDir());
  path = join(dir, "theirs.jsonl");
});
afterEach(async () => {
  await closeAll();
  await remove();
});

const closeAll = () => Promise.all(opened.splice(0).map((sessions) => sessions.close()));

/** The conversation as the gateway opens it, the sessions.json of another program beside it. */
async function open(): Promise<Sessions> {
  const table = await tableOf(dir);
  const cwdFor = () => "/spaces/main";
  const sessions = await openSessions({ dir, table, cwdFor, log: recordLog(), defaultAgent: agentId("main") });
  opened.push(sessions);
  return sessions;
}

async function put(bytes: Uint8Array): Promise<void> {
  await writeFile(path, bytes);
  const row = { sessionId: "theirs", updatedAt: 1, sessionFile: "theirs.jsonl" };
  await writeFile(join(dir, "sessions.json"), JSON.stringify({ [KEY]: row }));
}

const doctor = async (): Promise<readonly string[]> => {
  const check = checks({ dir, journal: journalBeside(dir) }).find(({ id }) => id === "sessions.transcripts");
  const lines = (await check?.run(new AbortController().signal)) ?? [];
  return lines.map(({ status, message }) => `${status} ${message.replace(path, "FILE")}`);
};

/** The next turn: what its model is shown, and what is shown of it after a restart. */
async function turn(): Promise<{ shown: readonly string[]; later: readonly string[]; page: readonly string[] }> {
  const session = await (await open()).acquire(KEY);
  const before = await session.window(ALL);
  for (const one of [1, 10, 1000]) await session.window(one);
  await session.append(say("and now?"));
  await session.append(answer("fine"), { durable: true });
  const shown = texts(before);
  session.release();
  await closeAll();
  const sessions = await open();
  const again = await sessions.acquire(KEY);
  const later = texts(await again.window(ALL));
  again.release();
  const { entries } = await sessions.history(KEY, 1000);
  await closeAll();
  const messages = entries.flatMap((entry) =>
    entry.type === "message" ? [{ entryId: entry.id, message: entry.message }] : [],
  );
  const page = texts({ messages, estimatedTokens: 0, older: false });
  return { shown, later, page };
}

describe("a transcript of another program", () => {
  it.each(TRANSCRIPTS.map((one) => [one.name, one] as const))("%s", async (_, foreign: Foreign) => {
    const { bytes, shows, says, cut = 0 } = foreign;
    await put(bytes);
    expect(await doctor()).toEqual([says === undefined ? expect.stringMatching(/^ok /) : expect.stringMatching(says)]);
    expect(Buffer.compare(await readFile(path), bytes)).toBe(0);
    const { shown, later, page } = await turn();
    expect(shown).toEqual(shows);
    expect(later).toEqual([...shows, "and now?", "fine"]);
    expect(page).toEqual(later);
    const kept = bytes.subarray(0, bytes.length - cut);
    expect(Buffer.compare((await readFile(path)).subarray(0, kept.length), kept)).toBe(0);
  });

  it("has a line that would fit into no memory, and is read around it", async () => {
    const [whole] = TRANSCRIPTS;
    const lines = whole?.bytes.toString().trimEnd().split("\n") ?? [];
    await put(Buffer.from(`${lines.slice(0, 3).join("\n")}\n{"type":"message","id":"c","parentId":"b","message":"`));
    // The zeros take no place on the disk.
    const { size } = await stat(path);
    await truncate(path, size + MORE_THAN_A_STRING);
    await appendFile(path, `"}\n${lines.at(-1)}\n`);
    expect(await doctor()).toEqual([expect.stringMatching(/^warn .*FILE: line 4 of 600\.0 MB is too long/)]);
    const session = await (await open()).acquire(KEY);
    expect(texts(await session.window(ALL))).toEqual(["a", "b", "d"]);
    await session.append(say("and now?"), { durable: true });
    expect(texts(await session.window(ALL))).toEqual(["a", "b", "d", "and now?"]);
    session.release();
  });
});

/** A text in memory has at most 512 MiB. */
const MORE_THAN_A_STRING = 600 * 2 ** 20;
