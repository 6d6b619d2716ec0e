import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { textResult } from "../../../src/tools/define.ts";
import { Secret } from "../../../src/utils/secrets/secret.ts";
import { openDispatchFixture, type Boot, type DispatchFixture } from "../../kit/dispatch.ts";
import { UNMETERED } from "../../../src/types/run/model-meter.ts";
import { modelsAt } from "../../kit/models.ts";
import { makeTool } from "../../kit/tools.ts";
import { until } from "../../kit/until.ts";

let fixture: DispatchFixture;
let boot: Boot;
let gate: Promise<void> | undefined;
let runs = 0;

beforeEach(async () => {
  fixture = await openDispatchFixture();
  gate = undefined;
  runs = 0;
  fixture.tools.push(
    makeTool("look", async ({ text }) => {
      runs += 1;
      await gate;
      if (text === "bad") throw new Error("there is no such thing");
      return textResult(`seen: ${text}`);
    }),
  );
  fixture.model.answer(({ isAfterTool }) =>
    isAfterTool ? { text: "all done" } : { tool: "look", args: { text: "fine", path: "notes `a` .md" } },
  );
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

/** What the chat got for a message, in its order. */
async function told(text: string): Promise<readonly string[]> {
  const before = fixture.platform.texts.length;
  await boot.ask(text);
  return fixture.platform.texts.slice(before).filter((line) => !line.startsWith(NEW_SESSION));
}

const NEW_SESSION = "🧭 New session: ";

describe("/verbose", () => {
  it("shows a line for each call before the answer, until it is off", async () => {
    expect(await told("hello")).toEqual(["all done"]);
    expect(await told("/verbose on")).toEqual([
      "Verbose: on (set here). A line is shown for each tool call, and why one fails.",
    ]);
    const [line = "", ...rest] = await told("hello");
    expect(line).toContain("look");
    expect(line).toContain("notes `a` .md");
    expect(rest).toEqual(["all done"]);
    await told("/verbose off");
    expect(await told("hello")).toEqual(["all done"]);
  });

  it("full shows the beginning of the result, too, without secrets", async () => {
    const secret = new Secret("sk-very-secret-0123456789");
    fixture.model.answer(({ isAfterTool }) =>
      isAfterTool ? { text: "all done" } : { tool: "look", args: { text: `${secret.reveal()} ${"x".repeat(9000)}` } },
    );
    const [, result = "", answer] = await told("/verbose full what is there?");
    expect(result).toContain("seen: ");
    expect(result).toContain("characters left out");
    expect(result).not.toContain("very-secret");
    expect(result.length).toBeLessThan(2000);
    expect(answer).toBe("all done");
    expect(JSON.stringify(fixture.model.calls.at(-1)?.messages)).not.toContain("/verbose");
    expect(await told("hello")).toEqual(["all done"]);
  });

  it("names a session that begins, once", async () => {
    const news = () => fixture.platform.texts.filter((line) => line.startsWith(NEW_SESSION));
    await told("hello");
    await told("/verbose on");
    await told("hello");
    expect(news()).toEqual([]);
    await told("/new hello again");
    await told("and again");
    expect(news()).toEqual([expect.stringMatching(/: `?[0-9a-f-]{36}`?$/)]);
  });

  it("says why a call failed", async () => {
    fixture.model.answer(({ isAfterTool }) =>
      isAfterTool ? { text: "all done" } : { tool: "look", args: { text: "bad" } },
    );
    const [, failed] = await told("/v on hello");
    expect(failed).toContain("look failed");
    expect(failed).toContain("there is no such thing");
  });

  it("holds at once, also for the turn that is running", async () => {
    const opened = Promise.withResolvers<void>();
    gate = opened.promise;
    const row = await boot.tell("hello");
    await until(() => runs === 1);
    expect(await told("/verbose full")).toHaveLength(1);
    opened.resolve();
    await boot.outcome(row);
    expect(fixture.platform.texts.join("\n")).toContain("seen: fine");
  });

  it("says nothing twice when the gateway restarts during a call", async () => {
    await boot.ask("/verbose on");
    gate = new Promise<never>(() => undefined);
    const row = await boot.tell("hello");
    await until(() => runs === 1);
    await boot.stop();
    gate = undefined;
    boot = await fixture.boot();
    await boot.recover();
    expect(await boot.outcome(row)).toEqual({ kind: "replied" });
    expect(fixture.platform.texts.filter((text) => text.includes("🛠️"))).toHaveLength(1);
    expect(fixture.platform.texts.at(-1)).toBe("all done");
  });
});

describe("a model that wants to say something by its calls", () => {
  it("gets neither markup nor a long name nor a part of a secret into the chat", async () => {
    const secret = new Secret("sk-cut-in-two-ABCDEFGHIJKLMNOP-0123456789");
    await boot.ask("/verbose full");
    for (const length of [60, 70, 75, 140]) {
      const path = `${"x".repeat(length)}${secret.reveal()}${"y".repeat(190)}`;
      fixture.model.answer(({ isAfterTool }) => (isAfterTool ? { text: "done" } : { tool: "look", args: { path } }));
      expect((await told("hello")).join()).not.toContain("sk-cut-in-two-ABCDEFGH");
    }
    const tool = `[click](http://evil.test)\n\n# Approved **b** ${"z".repeat(5000)}`;
    fixture.model.answer(({ isAfterTool }) => (isAfterTool ? { text: "done" } : { tool, args: { path: "a\u202Eb" } }));
    const [line = "", ...rest] = await told("hello");
    expect(line.length).toBeLessThan(200);
    expect(line).not.toMatch(/[[(*#\n\u202E]/);
    expect(rest.length).toBeLessThanOrEqual(2);
  });
});

describe("/usage", () => {
  it("says after each answer what it took, until it is off; alone, what the conversation took", async () => {
    expect((await told("hello /usage full")).at(-1)).toMatch(
      /^Usage: [\d,]+ tokens in, [\d,]+ out.*, \$0\.\d{4}, fake\/fake-1, [\d.]+ s$/,
    );
    expect(await told("hello")).toEqual(["all done"]);
    await told("/usage on");
    const [answer, usage = "", ...rest] = await told("hello");
    expect([answer, rest]).toEqual(["all done", []]);
    expect(usage).toMatch(/^Usage: [\d,]+ tokens in, [\d,]+ out$/);
    const [now = ""] = await told("/usage");
    expect(now).toMatch(/^Usage: tokens\. .*\nThis conversation: [\d,]+ in, [\d,]+ out\nLast run: fake\/fake-1/);
    fixture.model.answer(() => ({ text: "NO_REPLY" }));
    expect(await told("hello")).toEqual([]);
    fixture.model.answer(() => ({ text: "all done" }));
    await told("/usage off");
    expect(await told("hello")).toEqual(["all done"]);
  });
});

describe("/reasoning", () => {
  it("shows thoughts before the answer, to owners alone, and never a secret", async () => {
    const secret = new Secret("sk-of-a-thought-0123456789");
    await boot.stop();
    fixture.rules = { isOwner: ({ sender }) => sender.id !== "guest" };
    fixture.models = modelsAt(fixture.model.url, UNMETERED, { reasoning: true });
    fixture.model.answer(() => ({ thinking: `first\n\nthen ${secret.reveal()}`, text: "all done" }));
    boot = await fixture.boot();
    expect(await told("/think low hello")).toEqual(["all done"]);
    const [thoughts = "", ...rest] = await told("/think low /reasoning on hello");
    expect(thoughts).toMatch(/Reasoning:[^]*first[^]*then \[secret\]/);
    expect(rest).toEqual(["all done"]);
    await told("/reasoning on");
    expect(await told("/think low hello")).toHaveLength(2);
    await told("/reasoning off");
    expect(await told("/think low hello")).toHaveLength(1);
    fixture.model.answer(() => ({ thinking: "a long thought ".repeat(20_000), text: "all done" }));
    expect((await told("/think low /reasoning on hello")).join("").length).toBeLessThan(10_000);
    fixture.model.answer(() => ({ text: "<think>a plan in tags</think>all done" }));
    expect(await told("/reasoning on hello")).toEqual([
      expect.stringMatching(/Reasoning:[^]*a plan in tags/),
      "all done",
    ]);
    fixture.model.answer(() => ({ text: "<think>the answer itself" }));
    expect(await told("/reasoning on hello")).toEqual(["the answer itself"]);
    const before = fixture.platform.texts.length;
    await boot.outcome(await boot.tell("/reasoning on", "2", { sender: { id: "guest" } }));
    expect(fixture.platform.texts.slice(before).join()).toContain("commands.ownerAllowFrom");
  });
});

describe("/reasoning stream", () => {
  const secret = new Secret("sk-of-a-streamed-thought-0123");
  const thinking = `${"what is it that they want to know? ".repeat(60)}${secret.reveal()}`;

  async function startThinking(streaming: "partial" | "block"): Promise<void> {
    await boot.stop();
    fixture.rules = { isOwner: () => true, chat: () => ({ replyToMode: "off", streaming }) };
    fixture.models = modelsAt(fixture.model.url, UNMETERED, { reasoning: true });
    boot = await fixture.boot();
    await told("/reasoning stream /think low");
  }

  it("shows thoughts while they come, in the preview that becomes the answer, and never a secret", async () => {
    await startThinking("partial");
    const end = Promise.withResolvers<void>();
    fixture.model.answer(() => ({ thinking, text: "all done", until: end.promise }));
    const row = await boot.tell("hello");
    await until(() => fixture.platform.texts.some((text) => text.includes("💭")));
    const shown = fixture.platform.texts.at(-1) ?? "";
    expect(shown).toContain("they want to know? [secret]");
    expect(shown.length).toBeLessThan(1600);
    end.resolve();
    expect(await boot.outcome(row)).toEqual({ kind: "replied" });
    expect(fixture.platform.texts.at(-1)).toBe("all done");
    expect(fixture.platform.texts.join("\n")).not.toContain("💭");
    expect(JSON.stringify(fixture.platform.calls)).not.toContain(secret.reveal());
  });

  it("leaves nothing of them when the answer is silent", async () => {
    await startThinking("partial");
    const end = Promise.withResolvers<void>();
    fixture.model.answer(() => ({ thinking, text: "NO_REPLY ", until: end.promise }));
    const row = await boot.tell("hello");
    await until(() => fixture.platform.texts.some((text) => text.includes("💭")));
    end.resolve();
    expect(await boot.outcome(row)).toEqual({ kind: "silent" });
    await until(() => !fixture.platform.texts.some((text) => text.includes("💭")));
  });

  it("shows thoughts apart from each other, and each text once", async () => {
    await startThinking("partial");
    const end = Promise.withResolvers<void>();
    fixture.model.answer(({ isAfterTool }) =>
      isAfterTool
        ? { thinking: "and then?", text: "It is done.", until: end.promise }
        : { thinking: "what first?", text: "Let me see.", tool: "look", args: {} },
    );
    const row = await boot.tell("hello");
    await until(() => fixture.platform.texts.at(-1)?.includes("and then?") === true);
    expect(fixture.platform.texts.at(-1)).toMatch(
      /what first\?[\s>]*\n[\s>]*and then\?\s*\n\s*Let me see\.(?!.*Let me see)/s,
    );
    end.resolve();
    expect(await boot.outcome(row)).toEqual({ kind: "replied" });
    expect(fixture.platform.texts.at(-1)).toBe("Let me see.\n\nIt is done.");
    expect(JSON.stringify(fixture.platform.calls)).not.toMatch(/Let me see\.[^"]*Let me see/);
  });

  it("shows none of a silent answer where there is no preview", async () => {
    await startThinking("block");
    fixture.model.answer(() => ({ thinking, text: "NO_REPLY" }));
    expect(await told("hello")).toEqual([]);
  });

  it("shows them before the answer where there is no preview", async () => {
    await startThinking("block");
    fixture.model.answer(() => ({ thinking, text: "all done" }));
    const [thoughts, answer] = await told("hello");
    expect(thoughts).toContain("💭");
    expect(answer).toBe("all done");
  });
});

describe("an answer that is too long for a chat", () => {
  it.each([{}, { streaming: "block" as const }])("is cut, and the chat is told by how much: %j", async (style) => {
    fixture.rules = { chat: () => ({ replyToMode: "off", streaming: "off", ...style }) };
    fixture.model.answer(() => ({
      text: Array.from({ length: 3000 }, (_, at) => `Line ${at} ${"x".repeat(40)}.`).join("\n\n"),
    }));
    const texts = await told("much");
    expect(texts.slice(0, -1).join("").length).toBeLessThan(105_000);
    expect(texts.slice(0, -1).join("")).toContain("Line 1500 ");
    expect(texts.at(-1)).toMatch(/too long for a chat: its last [\d,]+ characters are left out/);
  });
});
