import { wireKey } from "../../src/sessions/keys.ts";
import { appendFile } from "node:fs/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Secret } from "../../src/utils/secrets/secret.ts";
import { LIMITS } from "../fakes/chat-platform.ts";
import { openDispatchFixture, type Boot, type DispatchFixture } from "../kit/dispatch.ts";
import { peer } from "../kit/inbound.ts";
import { makeTool } from "../kit/tools.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  fixture.keepsPrompts = true;
  fixture.model.answer(() => ({ text: "an answer" }));
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

const told = () => fixture.platform.texts.at(-1) ?? "";
const group = { ...peer("7"), chat: { kind: "group", id: "7", title: "Friends" } } as const;
const sayInGroup = async (text: string) => boot.outcome(await boot.tell(text, "7", { from: group }));

it("/history shows no thoughts that a model wrote between tags", async () => {
  const texts = ["<think>a secret</think>first", "a secret</think>second"];
  fixture.model.answer((_call, number) => ({ text: texts[number - 1] ?? "" }));
  await boot.ask("one");
  await boot.ask("two");
  await boot.ask("/history");
  expect(
    told()
      .split("\n")
      .map((line) => line.slice("2026-01-01 10:00 ".length)),
  ).toEqual(["User 1: one", "main: first", "User 1: two", "main: second"]);
});

it("/history shows the last turns as they were said, with a line for each tool and no word of the gateway", async () => {
  fixture.tools.push(makeTool("look", async () => ({ content: [{ type: "text", text: "the secret result" }] })));
  fixture.model.answer((_call, number) =>
    number === 1
      ? { tool: "look", args: { text: "", path: "notes.txt" } }
      : { text: `[[reply_to_current]]answer ${number}` },
  );
  await boot.ask("the first");
  await boot.ask("the second");
  await boot.ask("/history");
  const lines = told().split("\n");
  expect(lines.map((line) => line.slice("2026-01-01 10:00 ".length))).toEqual([
    "User 1: the first",
    "🛠️ look: notes.txt",
    "main: answer 2",
    "User 1: the second",
    "main: answer 3",
  ]);
  expect(lines[0]).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d /);
  await boot.ask("/history 1");
  expect(told().split("\n")).toHaveLength(2);
  await boot.ask("/history many");
  expect(told()).toBe("Use a number of turns from 1 to 50.");
});

it("/history leaves out turns that nobody wrote, masks secrets and shortens long texts", async () => {
  Secret.remember("s3cret-of-the-history");
  fixture.model.answer((call) => ({
    text: call.said.includes("HEARTBEAT") ? "HEARTBEAT_OK" : "a s3cret-of-the-history",
  }));
  const options = { operator: true, kind: "heartbeat", sessionKey: boot.keyOf("1"), heartbeat: { ackMaxChars: 300 } };
  await boot.ask("word ".repeat(200));
  await boot.outcome(await boot.tell("Read HEARTBEAT.md", "1", { options }));
  await boot.ask("/history");
  expect(told().split("\n")).toHaveLength(2);
  expect(told()).toMatch(/: a \[secret\]$/);
  expect(told()).not.toMatch(/s3cret|HEARTBEAT/);
  expect(told().length).toBeLessThan(500);
});

it("/history shows texts as they were written, whatever they contain", async () => {
  await boot.ask("**bold** `code` [link](http://x) snake_case _x_ ```\nfence");
  await boot.ask("/history");
  expect(told()).toContain("User 1: **bold** `code` [link](http://x) snake_case _x_ ``` fence");
});

it("/history of a group is for owners, and without turns it says so", async () => {
  await sayInGroup("/history");
  expect(told()).toContain("Only an owner may use /history");
  fixture.rules = { isOwner: () => true };
  await sayInGroup("/history");
  expect(told()).toBe("Nothing has been said in this conversation yet.");
});

/** The name and the text of the file that a command sends. */
async function fileOf(command: string): Promise<{ name: string | undefined; text: string }> {
  const row = await boot.tell(command);
  await boot.outcome(row);
  const parts = (await boot.journal.outbox.of(row.id)).flatMap(({ body }) =>
    body.kind === "media" ? [body.media] : [],
  );
  const [file] = parts;
  if (file?.source.at !== "store" || parts.length > 1) throw new Error("not one file was sent");
  return { name: file.name, text: Buffer.from(await boot.ports.storage.media.read(file.source.id)).toString() };
}

it("/export sends the whole conversation as Markdown, as JSON, or as its transcript, with secrets masked", async () => {
  Secret.remember('a"quoted"-s3cret');
  fixture.limits = { ...LIMITS, media: 100_000 };
  fixture.model.answer((_call, number) => ({ text: `answer ${number} has a"quoted"-s3cret` }));
  await boot.ask("the first");
  await boot.ask("the second\nof two lines");
  const { name, text } = await fileOf("/export");
  expect(fixture.platform.texts.slice(-2)).toEqual([
    expect.stringMatching(/^The conversation agent:main:telegram:default:1, with \d+ bytes\.$/),
    "<media>",
  ]);
  expect(name).toMatch(/^conversation-agent-main-telegram-default-1-\d{4}-\d\d-\d\d\.md$/);
  expect(text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d/g, "<time>")).toBe(
    [
      "# agent:main:telegram:default:1",
      "Exported <time> (UTC).",
      "## User 1, <time>",
      "the first",
      "## main, <time>",
      "answer 1 has [secret]",
      "## User 1, <time>",
      "the second\nof two lines",
      "## main, <time>",
      "answer 2 has [secret]\n",
    ].join("\n\n"),
  );
  const json = await fileOf("/export json");
  expect(json.name).toMatch(/\.json$/);
  expect(JSON.parse(json.text)).toMatchObject({
    sessionKey: wireKey(boot.keyOf("1")),
    messages: [
      { by: "person", name: "User 1", text: "the first" },
      { by: "agent" },
      {},
      { text: "answer 2 has [secret]" },
    ],
  });
  const path = boot.sessions.fileOf(boot.keyOf("1")) ?? "";
  await appendFile(path, '{"type":"mess\n{"type":"custom","customType":"note"}\n{"type":"mess');
  // It has thoughts and results of tools, which the chat does not show.
  await boot.ask("/export jsonl");
  expect(told()).toBe("Only an owner may export the transcript as it is kept.");
  fixture.rules = { isOwner: () => true };
  const lines = (await fileOf("/export jsonl")).text
    .trimEnd()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
  expect(lines[0]).toMatchObject({ type: "session" });
  expect(lines.at(-1)).toMatchObject({ customType: "note" });
  expect(fixture.platform.texts.at(-2)).toMatch(/ Lines that cannot be read are left out: 1\.$/);
  expect(JSON.stringify(lines)).toContain("answer 2 has [secret]");
  await boot.ask("/export xml");
  expect(told()).toBe("Use one of: md, json, jsonl.");
});

it("/export says what to do where a file is too large for the chat, or the chat takes none", async () => {
  await boot.ask("/export");
  expect(told()).toBe("This conversation has nothing to export yet.");
  await boot.ask("word ".repeat(1000));
  await boot.ask("/export");
  expect(told()).toMatch(/too large to be sent here: \d+ KiB, and at most 1000 bytes are possible\./);
  expect(told()).toContain("openclaw sessions export agent:main:telegram:default:1 --format markdown");
  fixture.limits = { ...LIMITS, media: 0 };
  await boot.ask("/export");
  expect(told()).toMatch(/^This chat takes no files\. .*openclaw sessions export/);
  fixture.limits = { ...LIMITS, media: 100_000_000 };
  await appendFile(boot.sessions.fileOf(boot.keyOf("1")) ?? "", " ".repeat(9 * 2 ** 20));
  await boot.ask("/export");
  expect(told()).toMatch(/too large to be sent here: 9\.0 MiB, and at most 8\.0 MiB/);
});

it.each([
  ["🙂", /^conversation-\d{4}-\d\d-\d\d\.md$/],
  [`a${"𝔘".repeat(90)}`, /^conversation-a𝔘{39}-\d{4}-\d\d-\d\d\.md$/u],
  ["../..\n<b>Trip</b>", /^conversation-b-trip-b-\d{4}-\d\d-\d\d\.md$/],
])("/export names its file by the label %s without what file names cannot have", async (label, name) => {
  fixture.limits = { ...LIMITS, media: 100_000 };
  await boot.ask("the first");
  await boot.sessions.patch(boot.keyOf("1"), { label }, { now: true });
  expect((await fileOf("/export")).name).toMatch(name);
});

it("/export makes one file of a conversation at a time", async () => {
  fixture.limits = { ...LIMITS, media: 100_000 };
  await boot.ask("the first");
  const rows = await Promise.all([1, 2, 3].map(async () => boot.tell("/export")));
  await Promise.all(rows.map(async (row) => boot.outcome(row)));
  const texts = fixture.platform.texts.slice(1);
  expect(texts.filter((text) => text === "<media>")).toHaveLength(1);
  expect(texts.filter((text) => text === "An export of this conversation is being made already.")).toHaveLength(2);
  expect((await fileOf("/export")).text).toContain("the first");
});

it("/export of a client names the file, in its answer and in its conversation", async () => {
  await boot.ask("the first");
  const key = boot.keyOf("1");
  const { runId } = await boot.chat.send({ sessionKey: key, text: "/export", media: [], idempotencyKey: "e-1" });
  const stream = boot.chat.stream(runId);
  const texts: string[] = [];
  for await (const event of stream?.watch() ?? []) if (event.type === "answer") texts.push(event.text);
  expect(texts).toEqual([
    expect.stringMatching(/📎 conversation-agent-main-telegram-default-1-.*\.md \(`media\/.*\.md`\)$/),
  ]);
  await boot.dispatch.replies.notes.settle();
  const { entries } = await boot.sessions.history(key, 1);
  expect(entries[0]).toMatchObject({ data: { said: "/export", media: [{ kind: "document", mime: "text/markdown" }] } });
});

it("/context shows what the model saw: the window, the prompt, tools with their sizes, and the conversation", async () => {
  fixture.tools.push(
    makeTool("look", async () => ({ content: [] })),
    makeTool("find", async () => ({ content: [] })),
  );
  await boot.ask("/context");
  expect(told()).toBe("No model has been asked in this conversation yet.");
  await boot.ask("the first");
  await boot.ask("/context");
  const lines = told().split("\n");
  expect(lines[0]).toMatch(/^What fake\/fake-1 saw at \d{4}-\d\d-\d\d \d\d:\d\d; tokens are estimated\.$/);
  expect(lines[1]).toMatch(/^Window: [\d,]+ of [\d,]+ tokens, \d+%; [\d,]+ are kept for the answer$/);
  expect(lines.slice(2)).toEqual([
    expect.stringMatching(/^System prompt: \d+ tokens, \d+ parts$/),
    expect.stringMatching(/^Tools: \d+ tokens, 2$/),
    expect.stringMatching(/^Conversation: \d+ tokens, 1 message$/),
  ]);
  await boot.ask("/context detail");
  expect(told()).toMatch(/Tools with their schemas\n• (look|find): \d+ tokens\n• (look|find): \d+ tokens/);
  await boot.ask("/context all");
  expect(told()).toBe("Use one of: list, detail, json.");
});

it("/context json gives the same as JSON, as a file where it is long", async () => {
  fixture.rules = { isOwner: () => true };
  await boot.ask("the first");
  await boot.ask("/context json");
  const shown = JSON.parse(told().replaceAll(/^```\n|\n```$/g, "")) as Record<string, unknown>;
  expect(shown).toMatchObject({ model: "fake/fake-1", conversation: { messages: 1, hasSummary: false }, window: {} });
  fixture.limits = { ...LIMITS, media: 100_000 };
  fixture.tools.push(...Array.from({ length: 100 }, (_, at) => makeTool(`tool_${at}`, async () => ({ content: [] }))));
  await boot.ask("the second");
  const { name, text } = await fileOf("/context json");
  expect(name).toMatch(/^context-.*\.json$/);
  expect((JSON.parse(text) as { tools: unknown[] }).tools).toHaveLength(100);
});

it("/context of a group: everybody sees the sums, owners the details", async () => {
  await sayInGroup("hello");
  await sayInGroup("/context");
  expect(told()).toContain("Conversation:");
  await sayInGroup("/context detail");
  expect(told()).toContain("Only an owner may use /context");
});

it("/context names files and skills for owners alone; others read how many and how large", async () => {
  const parts = [
    { name: "AGENTS.md", source: "/home/ada/AGENTS.md", tokens: 300, chars: 1200 },
    { name: "MEMORY.md", source: "/home/ada/MEMORY.md", tokens: 10, chars: 34 },
    { name: "skill tide-table", source: "/home/ada/skills/tide-table/SKILL.md", tokens: 20, chars: 80 },
  ];
  fixture.systemPrompt = async () => ({ text: "x".repeat(1314), parts });
  await sayInGroup("hello");
  for (const asked of ["/context", "/context list"]) {
    await sayInGroup(asked);
    expect(told()).toContain("Files: 2, 1,234 characters\nSkills: 1, 80 characters");
    expect(told()).not.toMatch(/AGENTS|MEMORY|tide|ada/);
  }
  await boot.ask("hello");
  await boot.ask("/context");
  expect(told()).toContain("Files: 2, 1,234 characters");
  expect(told()).not.toMatch(/AGENTS|MEMORY|tide|ada/);
  fixture.rules = { isOwner: () => true };
  await sayInGroup("/context");
  expect(told()).toContain("AGENTS.md");
  expect(told()).toContain("tide-table");
});
