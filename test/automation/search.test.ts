import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { searchSessions } from "../../src/automation/talk/search.ts";
import { sessionKey } from "../../src/types/ids.ts";

const entry = (id: string, role: string, text: string, more: object = {}) =>
  JSON.stringify({
    type: "message",
    id,
    parentId: null,
    timestamp: `2026-01-01T00:00:0${id}.000Z`,
    message: { role, content: [{ type: "text", text }], ...more },
  });

const ANSWER = { api: "x", provider: "p", model: "m", stopReason: "stop", usage: {} };

async function stage(chats: Readonly<Record<string, readonly string[]>>) {
  const dir = await mkdtemp(join(tmpdir(), "openclaw-search-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const file = (key: string) => join(dir, `${key}.jsonl`);
  for (const [key, lines] of Object.entries(chats)) await writeFile(file(key), `${lines.join("\n")}\n`);
  const rows = Object.keys(chats).map((key) => ({
    key: sessionKey(key),
    entry: { sessionId: `id-${key}`, updatedAt: 0 },
  }));
  const { signal } = new AbortController();
  return (query: string, limit = 10) => searchSessions({ query, limit, signal }, rows, { fileOf: file });
}

test("messages with most of the words come first, then the latest; other lines are none", async () => {
  const find = await stage({
    one: [
      entry("1", "user", "The Käse is in the cellar"),
      entry("2", "assistant", "Which KÄSE, and which cellar?", ANSWER),
      entry("3", "toolResult", "käse cellar", { toolCallId: "t", toolName: "read", isError: false }),
      "käse cellar is no JSON",
    ],
    two: [entry("4", "user", "käse"), entry("5", "user", "käse"), entry("6", "user", "nothing")],
  });
  const { results, ...more } = await find("cellar käse");
  expect(results.map(({ sessionKey: key, messageId, role, score }) => [key, messageId, role, score])).toEqual([
    ["one", "2", "assistant", 1],
    ["one", "1", "user", 1],
    ["two", "5", "user", 0.5],
    ["two", "4", "user", 0.5],
  ]);
  expect(more).toEqual({});
  expect(results[1]).toMatchObject({ sessionId: "id-one", snippet: "The Käse is in the cellar" });
  expect((await find("the cellar")).results[0]).toMatchObject({ messageId: "1", score: 2 });
  expect(await find("käse", 1)).toMatchObject({ results: [{ messageId: "5" }], truncated: true });
  expect(await find("… “ ”")).toEqual({ results: [] });
});

test("a question in a script without spaces finds what has some of its words, the nearest first", async () => {
  const find = await stage({
    one: [
      entry("1", "user", "明天下午三点有项目评审会议"),
      entry("2", "user", "今天的天气很好"),
      entry("3", "user", "项目"),
    ],
    two: [entry("4", "user", "会議は東京タワーの近くで開きます")],
  });
  const idsOf = async (query: string) => (await find(query)).results.map(({ messageId }) => messageId);
  expect(await idsOf("项目评审的时间")).toEqual(["1", "3"]);
  expect(await idsOf("東京タワーの場所")).toEqual(["4"]);
  expect(await idsOf("项目")).toEqual(expect.arrayContaining(["1", "3"]));
  expect(await idsOf("海边房子")).toEqual([]);
});

test("of a long conversation the newest messages are found, and a snippet has the words", async () => {
  const lines = Array.from({ length: 500 }, (_, at) => entry("1", "user", `apple ${at}`));
  const find = await stage({
    long: [...lines, entry("9", "user", `${"word ".repeat(100)}pear ${"word ".repeat(100)}`)],
  });
  const apples = await find("apple 499", 1);
  expect(apples).toMatchObject({ results: [{ snippet: "apple 499", score: 2 }], truncated: true });
  const [pear] = (await find("pear")).results;
  expect(pear?.snippet).toMatch(/^….*pear.*…$/);
});

test("no query makes the search fail, whatever is in it", async () => {
  const find = await stage({ one: [entry("1", "user", "hello")] });
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary", maxLength: 40 }), async (query) => {
      expect((await find(query)).results.length).toBeLessThanOrEqual(1);
    }),
    { numRuns: 30 },
  );
});
