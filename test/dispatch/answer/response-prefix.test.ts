import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ResponsePrefix } from "../../../src/dispatch/answer/response-prefix.ts";
import { renderText } from "../../../src/outbox/render.ts";
import { parseMarkdown } from "../../../src/reply/markdown/parse.ts";
import { runId } from "../../../src/types/ids.ts";
import { MODEL } from "../../kit/models.ts";
import { LIMITS } from "../../fakes/chat-platform.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";
import { nextMessage } from "../../kit/inbound.ts";

const who = { identityName: "Ada", model: { fallbacks: [] } };
const opus = { provider: "anthropic", id: "claude-opus-4-20260101" };

function prefixOf(template: string, model = opus) {
  const prefix = new ResponsePrefix(template, who);
  const attempt = { number: 1, thinking: "low", window: 1, messages: 1, estimatedTokens: 1 } as const;
  prefix.note({ type: "attempt_start", model, ...attempt, seq: 1, ts: 1 });
  return prefix;
}

describe("the text before an answer", () => {
  it.each([
    ["[bot]", "[bot] hello"],
    ["[{model}]", "[claude-opus-4] hello"],
    ["{modelFull} {provider}:", "anthropic/claude-opus-4-20260101 anthropic: hello"],
    ["({thinkingLevel}|{think})", "(low|low) hello"],
    ["{identity.name}:\n", "Ada:\nhello"],
    ["auto", "[Ada] hello"],
    ["{constructor} {weather}", "{constructor} {weather} hello"],
    ["", "hello"],
    [" ", "hello"],
  ])("%j makes %j", (template, shown) => {
    expect(prefixOf(template).before("hello")).toBe(shown);
  });

  it("is nothing where `auto` finds no name, and before nothing", () => {
    expect(new ResponsePrefix("auto", { model: who.model }).before("hello")).toBe("hello");
    expect(prefixOf("[bot]").before(" \n")).toBe(" \n");
  });

  it.each([
    "```js\nlet a;\n```",
    "~~~\na\n~~~",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "a | b\n--|--\n1 | 2",
    "- one\n- two",
    "1. one\n2. two",
    "# Title",
    "> quoted",
    "Title\n=====\n\ntext",
    "Title\n---",
    "---\n\ntext",
    "    code",
    "\n\n- one",
  ])("leaves what follows as it is: %j", (text) => {
    const [first, ...rest] = parseMarkdown(prefixOf("[bot]").before(text)).blocks;
    expect(first).toEqual({ type: "paragraph", children: [{ type: "text", text: "[bot]" }] });
    expect(rest).toEqual(parseMarkdown(text).blocks);
  });

  it("is in the first line of words", () => {
    for (const text of ["1st of all", "-5 degrees", "#tag", "a\nb", "**bold**", "a | b"])
      expect(prefixOf("[bot]").before(text)).toBe(`[bot] ${text}`);
  });

  const template = fc
    .array(
      fc.constantFrom(
        "{model}",
        "{modelFull}",
        "{provider}",
        "{think}",
        "{identity.name}",
        "{x}",
        "**",
        " · ",
        "]",
        "[",
        "Bot:",
        "\\",
        "?",
      ),
      {
        maxLength: 5,
      },
    )
    .map((parts) => `${parts.join("")}:`);
  const id = fc.constantFrom("gpt-5.1", "org/name_1:free", "claude-opus-4-latest");

  it("is known again in the chat's own text after a restart, whichever model answered then", async () => {
    await fc.assert(
      fc.asyncProperty(template, id, id, fc.constantFrom("Hello there", "- a\n- b"), async (made, then, now, text) => {
        const shown = prefixOf(made, { provider: "openai", id: then }).before(text);
        const [part] = await renderText(shown, LIMITS);
        const bare = prefixOf(made, { provider: "other", id: now }).without(part!.plain);
        const [wanted] = await renderText(text, LIMITS);
        expect(bare).toBe(wanted!.plain);
      }),
    );
  });
});

describe("an answer with a prefix", () => {
  let fixture: DispatchFixture;
  let boot: Boot;
  beforeEach(async () => {
    fixture = await openDispatchFixture();
    boot = await fixture.boot();
  });
  afterEach(() => fixture.close());

  it("names the model that answered", async () => {
    fixture.rules = { chat: () => ({ replyToMode: "off", streaming: "off", responsePrefix: "[{modelFull}]" }) };
    await boot.ask("hello");
    expect(fixture.platform.texts).toEqual([`[${MODEL.provider}/${MODEL.id}] echo: hello`]);
  });

  it("has it from the first word that is shown", async () => {
    fixture.rules = { chat: () => ({ replyToMode: "off", streaming: "partial", responsePrefix: "[{model}]" }) };
    fixture.model.answer(() => ({ text: `${"many words ".repeat(12)}end`, everyMs: 60 }));
    await boot.ask("hello");
    const [shown] = fixture.platform.messages;
    expect(shown!.edits.length).toBeGreaterThan(0);
    for (const text of [...shown!.edits, shown!.text]) expect(text).toMatch(new RegExp(`^\\[${MODEL.id}\\] many`));
  });

  it("is not sent again after a restart in which another model is asked", async () => {
    fixture.rules = { chat: () => ({ replyToMode: "off", streaming: "block", responsePrefix: "[{model}]" }) };
    const row = (await boot.journal.inbox.accept([nextMessage("hello")]))[0]!.row;
    const key = boot.keyOf("1");
    const claim = { sessionKey: key, runId: runId(row.message.id), turnId: "turn-1" };
    await boot.journal.inbox.claim([row.id], claim);
    await boot.use("1", async (session) => {
      const user = { role: "user", content: "hello", timestamp: 1 } as const;
      await session.append({ type: "message", message: user }, { id: "turn-1", durable: true });
    });
    await boot.journal.outbox.plan({
      replyKey: `in:${row.id}:block:0`,
      inboxId: row.id,
      to: row.message.from,
      parts: await renderText("[another-model] what was said", LIMITS),
    });
    await boot.stop();
    fixture.model.answer(() => ({ text: "and the rest of it" }));
    const again = await fixture.boot();
    await again.recover();
    await again.outcome(row);
    expect(fixture.platform.texts).toEqual(["[another-model] what was said", "and the rest of it"]);
    expect(JSON.stringify(fixture.model.calls[0]!.messages)).not.toContain("another-model");
  });
});
