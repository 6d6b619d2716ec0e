import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openDispatchFixture, type Boot, type DispatchFixture } from "../../kit/dispatch.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

const word = fc.oneof(
  fc.stringMatching(/^[a-zäß]{1,9}[.,!?]?$/u),
  fc.constantFrom("👩\u200D💻", "漢字。", "שלום", "**bold**", "`code`", "_it_", "(aside)", "[[ x ]]", "<b>"),
);
const line = fc.array(word, { minLength: 1, maxLength: 12 }).map((words) => words.join(" "));
const paragraph = fc.oneof(
  fc.array(line, { minLength: 1, maxLength: 3 }).map((lines) => lines.join("\n")),
  fc.array(line, { minLength: 1, maxLength: 3 }).map((lines) => lines.map((text) => `- ${text}`).join("\n")),
  fc.array(line, { minLength: 1, maxLength: 3 }).map((lines) => `\`\`\`\n${lines.join("\n")}\n\`\`\``),
);
const answer = fc.array(paragraph, { minLength: 1, maxLength: 6 }).map((parts) => [...parts, "The end."].join("\n\n"));

/** What a platform's own marks do not change. */
const lettersOf = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]/gu, "");

describe.each([
  ["off", 40],
  ["partial", 40],
  // The chat gets a message in a second at most.
  ["block", 5],
] as const)("an answer (%s)", (streaming, numRuns) => {
  it("says in the chat what the model wrote, whatever it is cut into", async () => {
    await fc.assert(
      fc.asyncProperty(answer, fc.integer({ min: 60, max: 300 }), async (text, maxChars) => {
        const chunk = { minChars: 60, maxChars, breakPreference: "sentence" } as const;
        const agent = { streaming: { blocks: true, breakAt: "text_end", chunk } } as const;
        fixture.rules = { agent, chat: () => ({ replyToMode: "off", streaming }) };
        fixture.model.answer(() => ({ text }));
        const before = fixture.platform.texts.length;
        expect(await boot.ask("hello")).toEqual({ kind: "replied" });
        expect(lettersOf(fixture.platform.texts.slice(before).join("\n"))).toBe(lettersOf(text));
      }),
      { numRuns },
    );
  });
});
