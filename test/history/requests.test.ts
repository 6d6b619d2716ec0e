import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assemble } from "../../src/history/assemble.ts";
import { canThink } from "../../src/history/can-think.ts";
import { applyPasses, HISTORY_PASSES } from "../../src/history/passes.ts";
import { policyFor, policyWithTools } from "../../src/providers/quirks.ts";
import type { ChatMessage } from "../../src/types/run/model.ts";
import { emptyUsage } from "../../src/types/run/usage.ts";
import { ending, frozen, transcript } from "./transcripts.ts";
import { requestOf, WIRES } from "./wire.ts";

const RUNS = 160;
const conversation = fc.tuple(transcript, ending).map(([before, last]) => frozen([...before, ...last]));

/** Words of users that anybody could see, as they stand in JSON. */
const userWords = (messages: readonly ChatMessage[]): string[] =>
  messages
    .flatMap((one) => (one.role === "user" ? [one.content] : []))
    .flatMap((content) =>
      typeof content === "string" ? [content] : content.flatMap((part) => ("text" in part ? [part.text] : [])),
    )
    .filter((text) => /[^\s\p{Cc}\p{Cs}]/u.test(text) && text.isWellFormed())
    .map((text) => JSON.stringify(text).slice(1, -1));

describe.each(WIRES)("a request of $model.api", ({ model, faults }) => {
  const policy = policyFor(model);

  it("is valid for the last try too, with nothing but text and pictures of users", async () => {
    await requestOf(model, [{ role: "user", content: "warm", timestamp: 0 }]);
    await fc.assert(
      fc.asyncProperty(conversation, async (messages) => {
        const passed = applyPasses(messages, { ...policy, strict: true });
        for (const { role, content } of passed) {
          expect(role).not.toBe("toolResult");
          if (role === "assistant") for (const part of content) expect(Object.keys(part)).toEqual(["type", "text"]);
        }
        for (const [at, { role }] of passed.entries()) expect(role).toBe(at % 2 === 0 ? "user" : "assistant");
        const request = await requestOf(model, passed);
        expect(faults(request)).toEqual([]);
        const sent = JSON.stringify(request);
        for (const words of userWords(messages)) expect(sent).toContain(words);
        expect(applyPasses(passed, { ...policy, strict: true })).toBe(passed);
      }),
      { numRuns: RUNS },
    );
  });

  it("is valid whatever the transcript went through, and holds every word of the user", async () => {
    await requestOf(model, [{ role: "user", content: "warm", timestamp: 0 }]);
    await fc.assert(
      fc.asyncProperty(conversation, async (messages) => {
        const passed = applyPasses(messages, policy);
        const request = await requestOf(model, passed, { reasoning: canThink(passed, policy) ? "low" : undefined });
        expect(faults(request)).toEqual([]);
        const sent = JSON.stringify(request);
        for (const words of userWords(messages)) expect(sent).toContain(words);
      }),
      { numRuns: RUNS },
    );
  });

  it("is valid when it offers no tools", async () => {
    await requestOf(model, [{ role: "user", content: "warm", timestamp: 0 }]);
    const toolless = policyWithTools(policy, 0);
    await fc.assert(
      fc.asyncProperty(conversation, async (messages) => {
        const passed = applyPasses(messages, toolless);
        expect(faults(await requestOf(model, passed, { tools: false }))).toEqual([]);
        expect(applyPasses(passed, toolless)).toBe(passed);
      }),
      { numRuns: RUNS / 4 },
    );
  });

  it("is made once: after a summary and a limit of turns, too, the passes change nothing any more", () => {
    const some = fc.option(fc.string(), { nil: undefined });
    const limit = fc.option(fc.nat(4), { nil: undefined });
    fc.assert(
      fc.property(conversation, some, limit, fc.boolean(), (messages, summary, earlierTurns, strict) => {
        const rows = messages.map((message, at) => ({ entryId: String(at), message }));
        const window = { messages: rows, estimatedTokens: 1, older: false, ...(summary !== undefined && { summary }) };
        const shown = assemble(window, { ...policy, strict, earlierTurns }).messages;
        expect(applyPasses(shown, { ...policy, strict })).toEqual(shown);
      }),
      { numRuns: RUNS },
    );
  });

  it("stays the same when the passes run again, all or one", () => {
    fc.assert(
      fc.property(conversation, (messages) => {
        const once = applyPasses(messages, policy);
        expect(applyPasses(once, policy)).toEqual(once);
        for (const pass of HISTORY_PASSES) expect(pass.apply(once, policy), pass.name).toBe(once);
      }),
      { numRuns: RUNS },
    );
  });

  it("begins as the request before it did, so that the provider's cache holds", () => {
    // Past the limit of images the oldest become words.
    const roomy = { ...policy, imageLimits: { ...policy.imageLimits, count: 1000 } };
    fc.assert(
      fc.property(transcript, ending, ending, (before, turn, next) => {
        const first = applyPasses(frozen([...before, ...turn]), roomy);
        const then = applyPasses(frozen([...before, ...turn, answered, ...next]), roomy);
        expect(then.slice(0, first.length)).toEqual(first);
        // Within a run the passes get what they gave.
        expect(applyPasses([...first, answered, ...next], roomy)).toEqual(then);
      }),
      { numRuns: RUNS },
    );
  });

  const answered: ChatMessage = {
    role: "assistant",
    content: [{ type: "text", text: "Yes." }],
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage: emptyUsage(),
    stopReason: "stop",
    timestamp: 4,
  };
});
