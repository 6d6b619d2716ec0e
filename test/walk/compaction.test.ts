import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SessionManager } from "@mariozechner/pi-coding-agent";
import { describe, vi } from "vitest";
import type { ModelCall } from "../fakes/model.ts";
import { entriesOf, fileOf, sessionsOf, textOf, transcriptOf } from "../kit/gateway/state-files.ts";
import { PATIENCE, type Home } from "../kit/gateway/process.ts";
import { test, type World } from "../kit/gateway/world.ts";

/** A model with so small a window that a few long answers fill it. */
const SMALL = (world: World, contextWindow: number) => ({
  models: {
    providers: {
      fake: {
        baseUrl: world.model.url,
        apiKey: "x",
        api: "openai-completions",
        models: [{ id: "fake-1", contextWindow, maxTokens: 4096 }],
      },
    },
  },
});

const isSummary = (call: ModelCall) => call.system.startsWith("You write the memory");
const isFlush = (call: ModelCall) => call.said.startsWith("This is no message of the user.");
const chatCalls = (world: World) => world.model.calls.filter((call) => !isSummary(call) && !isFlush(call));
const shown = (call: ModelCall | undefined) => JSON.stringify(call?.messages);
const LONG = "word ".repeat(1200);

async function say(world: World, text: string): Promise<void> {
  const before = world.telegram.shown(1001).length;
  world.telegram.say(text, { from: { id: 1001, first_name: "Ada" } });
  await world.telegram.waitFor(() => world.telegram.shown(1001).length > before);
}

const compactionsOf = (home: Home) => transcriptOf(home, ":1001").filter((entry) => entry.type === "compaction");

const countOf = (home: Home) =>
  Object.entries(sessionsOf(home)).find(([key]) => key.endsWith(":1001"))?.[1]["compactionCount"];

const compacted = (home: Home, count: number) =>
  vi.waitFor(() => {
    if (compactionsOf(home).length < count) throw new Error(`${compactionsOf(home).length} of ${count} compactions`);
  }, PATIENCE);

const compactedYet = (home: Home): number => {
  try {
    return compactionsOf(home).length;
  } catch {
    return 0;
  }
};

const TOO_LONG = { status: 400, message: "This model's maximum context length is 10 tokens" };

describe.concurrent("a conversation that outgrows its model", () => {
  test("a long chat is compacted after a turn; nothing leaves the file, and pi reads it the same", async ({
    world,
    expect,
  }) => {
    world.model.answer((call) =>
      isSummary(call) ? { text: "SUMMARY of the long chat" } : { text: `ok ${call.messages.length}` },
    );
    const { home, gateway } = await world.start(SMALL(world, 24_000));
    for (let turn = 1; compactedYet(home) === 0 && turn < 20; turn += 1) await say(world, `turn-${turn} ${LONG}`);
    await compacted(home, 1);
    await say(world, "and what now?");
    const last = shown(chatCalls(world).at(-1));
    expect(last).toContain("SUMMARY of the long chat");
    expect(last).not.toContain("turn-1 ");
    const summarised = world.model.calls
      .filter(isSummary)
      .map((call) => call.said)
      .join("\n");
    expect(summarised).toContain("turn-1 ");
    const entries = transcriptOf(home, ":1001");
    const texts = entries.map((entry) => textOf(entry.message?.content)).join("\n");
    expect(texts).toContain("turn-1 ");
    expect(await gateway.kill()).toBe(0);
    expect(countOf(home)).toBe(1);

    const file = fileOf(home, Object.values(sessionsOf(home))[0]!);
    const [first, ...kept] = SessionManager.open(file).buildSessionContext().messages;
    expect(first).toMatchObject({ role: "compactionSummary", summary: "SUMMARY of the long chat" });
    const from = entriesOf(file).findIndex((entry) => entry.id === compactionsOf(home)[0]?.["firstKeptEntryId"]);
    const ours = entriesOf(file)
      .slice(from)
      .flatMap((entry) => entry.message ?? []);
    expect(kept.map((message) => message.role)).toEqual(ours.map((message) => message.role));
  });

  test("a request that is too long for the model is compacted and answered", async ({ world, expect }) => {
    world.model.answer((call) => {
      if (isSummary(call)) return { text: "SUMMARY" };
      return shown(call).includes("turn-1 ") && call.said.includes("turn-3") ? TOO_LONG : { text: `fine` };
    });
    const { home, gateway } = await world.start();
    // The refused request is much larger than its fixed part, so what is left after the compaction has room for more turns.
    for (const text of [`turn-1 ${LONG.repeat(8)}`, `turn-2 ${LONG}`, "turn-3"]) await say(world, text);
    expect(shown(chatCalls(world).at(-1))).toContain("SUMMARY");
    expect(compactionsOf(home)).toHaveLength(1);
    expect(world.telegram.shown(1001).at(-1)).toBe("fine");
    expect(await gateway.kill()).toBe(0);
    expect(countOf(home)).toBe(1);
  });

  test("when the summary cannot be written, a list replaces it and the turn is answered", async ({ world, expect }) => {
    world.model.answer((call) => {
      if (isSummary(call)) return { status: 500, message: "broken" };
      return shown(call).includes(LONG.repeat(2)) && call.said.includes("turn-3") ? TOO_LONG : { text: `fine` };
    });
    const { gateway } = await world.start();
    for (const turn of [1, 2]) await say(world, `turn-${turn} ${LONG.repeat(2)}`);
    await say(world, "turn-3");
    expect(world.telegram.shown(1001).at(-1)).toBe("fine");
    expect(shown(chatCalls(world).at(-1))).toMatch(/User: .*turn-1/);
    await gateway.logged("compacted without a model");
  });

  test("/compact makes a summary, with the user's wishes, and says so when there is nothing", async ({
    world,
    expect,
  }) => {
    world.model.answer((call) => (isSummary(call) ? { text: "SUMMARY" } : { text: "fine" }));
    const { home } = await world.start();
    await say(world, "/compact");
    expect(world.telegram.shown(1001).at(-1)).toContain("nothing to compact yet");
    for (const turn of [1, 2, 3]) await say(world, `turn-${turn} ${LONG}`);
    await say(world, "/compact keep the colours");
    expect(world.telegram.shown(1001).at(-1)).toMatch(/^Compacted: about [\d,]+ → [\d,]+ tokens\.$/);
    expect(world.model.calls.findLast(isSummary)?.said).toContain("keep the colours");
    await say(world, "go on");
    expect(shown(chatCalls(world).at(-1))).toContain("SUMMARY");
    expect(shown(chatCalls(world).at(-1))).toContain("turn-3");
    expect(compactionsOf(home)).toHaveLength(1);
  });

  test("before the compaction the agent saves its notes without a message; after it the next turn gets a list of what it lost", async ({
    world,
    expect,
  }) => {
    const NOTE = "the user likes blue";
    world.model.answer((call) => {
      if (isSummary(call)) return { text: "SUMMARY" };
      if (call.isAfterTool) return { text: isFlush(call) ? "NO_REPLY" : "fine" };
      if (isFlush(call)) return { tool: "write", args: { path: "memory/today.md", content: NOTE } };
      return call.said.includes("turn-1 ") ? { tool: "read", args: { path: "note.md" } } : { text: "fine" };
    });
    const { home } = await world.start({
      ...SMALL(world, 24_000),
      agents: { defaults: { compaction: { keepRecentTokens: 2000, notifyUser: true } } },
      // A guest's words do not get into the notes.
      commands: { ownerAllowFrom: ["telegram:1001"] },
    });
    await writeFile(join(home.stateDir, "workspace", "note.md"), "a note");
    for (let turn = 1; compactedYet(home) === 0 && turn < 20; turn += 1) await say(world, `turn-${turn} ${LONG}`);
    await compacted(home, 1);
    expect(await readFile(join(home.stateDir, "workspace", "memory", "today.md"), "utf8")).toBe(NOTE);
    await world.told(/is now a summary/);
    expect(world.telegram.shown(1001).join("\n")).not.toMatch(/NO_REPLY|no message of the user/);
    await say(world, "and what now?");
    // The turn before may have begun after the compaction already: then it is the one that gets the list.
    const lists = chatCalls(world).filter(({ said }) =>
      said.includes("went with the older part of the conversation: note.md."),
    );
    expect(lists).toHaveLength(1);
  });
});
