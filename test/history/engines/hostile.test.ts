import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canThink } from "../../../src/history/can-think.ts";
import { applyPasses } from "../../../src/history/passes.ts";
import { policyFor } from "../../../src/providers/quirks.ts";
import type { AssembleParams, ContextEngine } from "../../../src/types/engine/context-engine.ts";
import type { ChatMessage } from "../../../src/types/run/model.ts";
import { ending as lastTurn, frozen, transcript } from "../transcripts.ts";
import { requestOf, WIRES } from "../wire.ts";
import { ask, engineFixture, textOf, uncheckedEngine } from "../../kit/engine.ts";

/** What no engine should say, and some do. */
const garbage = fc.oneof(
  fc.anything({ maxDepth: 3 }),
  fc.record(
    {
      role: fc.constantFrom<unknown>("user", "assistant", "toolResult", "tool", "system", "custom", 7, undefined),
      content: fc.oneof(
        fc.string(),
        fc.array(
          fc.oneof(
            fc.anything({ maxDepth: 1 }),
            fc.record({
              type: fc.constantFrom("text", "image", "thinking", "toolCall", "tool_use"),
              text: fc.string(),
              thinking: fc.string(),
              id: fc.string({ maxLength: 3 }),
              name: fc.string({ maxLength: 3 }),
              data: fc.string({ maxLength: 3 }),
              mimeType: fc.constant("image/png"),
              arguments: fc.anything({ maxDepth: 1 }),
            }),
          ),
          { maxLength: 3 },
        ),
        fc.anything({ maxDepth: 1 }),
      ),
      toolCallId: fc.oneof(fc.string({ maxLength: 3 }), fc.anything()),
      timestamp: fc.oneof(fc.double(), fc.anything({ maxDepth: 0 })),
      usage: fc.anything({ maxDepth: 1 }),
      stopReason: fc.oneof(fc.constantFrom("stop", "error", "toolUse"), fc.anything({ maxDepth: 0 })),
    },
    { requiredKeys: ["role", "content"] },
  ),
);
const estimate = fc.oneof({ weight: 4, arbitrary: fc.nat() }, fc.anything({ maxDepth: 0 }));
const said = fc.oneof(
  { weight: 3, arbitrary: fc.record({ messages: transcript, estimatedTokens: fc.nat() }) },
  fc.record({ messages: fc.array(garbage, { maxLength: 5 }), estimatedTokens: estimate }),
  fc.record({ messages: fc.anything(), estimatedTokens: estimate, systemPromptAddition: fc.anything() }),
  fc.anything(),
);

/** It does as it likes with what it is given. */
const vandal = (answer: unknown): ContextEngine => {
  const engine: ContextEngine = {
    info: { id: "vandal", name: "Vandal", ownsCompaction: true },
    ingest: async () => ({ ingested: true }),
    assemble: async ({ messages }) => ({ messages, estimatedTokens: 1 }),
    compact: async () => ({ ok: true, compacted: true }),
    afterTurn: async ({ messages }) => void messages.splice(0),
  };
  const assemble = async ({ messages, availableTools }: AssembleParams) => {
    for (const message of messages) {
      if (typeof message.content !== "string") message.content.splice(0);
      message.role = "user";
      if (message.role === "user") delete message.provenance;
    }
    messages.reverse();
    availableTools?.clear();
    return answer;
  };
  return uncheckedEngine(engine, { assemble });
};

const userWords = (messages: readonly ChatMessage[]): string[] =>
  messages
    .filter((message) => message.role === "user")
    .flatMap((message) => textOf(message).split("\n"))
    .filter((text) => /[^\s\p{Cc}\p{Cs}]/u.test(text) && text.isWellFormed());

/** One of each family; the passes' own tests ask all. */
const FAMILIES = ["anthropic-messages", "openai-completions", "openai-responses", "google-generative-ai"];

describe.each(WIRES.filter(({ model }) => FAMILIES.includes(model.api)))(
  "whatever an engine answers, a request of $model.api",
  ({ model, faults }) => {
    const policy = policyFor(model);
    const request = async (messages: readonly ChatMessage[]) => {
      const passed = applyPasses(messages, policy);
      return requestOf(model, passed, { reasoning: canThink(passed, policy) ? "low" : undefined });
    };

    it("is valid and holds the user's turn, at first and in the tool loop", async () => {
      await requestOf(model, [{ role: "user", content: "warm", timestamp: 0 }]);
      await fc.assert(
        fc.asyncProperty(transcript, lastTurn, said, async (history, last, answer) => {
          const messages = frozen([...history, ...last]);
          const tools = new Set(["read"]);
          for (const call of ["assemble", "reassemble"] as const) {
            const turn = await engineFixture(vandal(answer), { hasFile: false }).open();
            const asked = ask(messages, history.length, { availableTools: tools, tokenBudget: 1_000_000 });
            const shown = (await turn[call](asked))?.messages ?? messages;
            const sent = await request(shown);
            expect(faults(sent)).toEqual([]);
            const text = JSON.stringify(sent);
            for (const words of userWords(last)) expect(text).toContain(JSON.stringify(words).slice(1, -1));
          }
          expect(tools.size).toBe(1);
        }),
        { numRuns: 150 },
      );
    });
  },
);

/** Passes on what it is told, as engines do that store messages in a way of their own. */
const FAITHFUL: Record<string, (message: ChatMessage) => unknown> = {
  "as it is": (message) => message,
  "through JSON": (message) => JSON.parse(JSON.stringify(message)),
  "with roles and words alone": ({ role, content, ...rest }) => ({
    role,
    content,
    ...("toolCallId" in rest && { toolCallId: rest.toolCallId }),
  }),
};

describe.each(WIRES.filter(({ model }) => FAMILIES.includes(model.api)))(
  "an engine that passes messages on, for $model.api",
  ({ model }) => {
    const policy = policyFor(model);

    it.each(Object.keys(FAITHFUL))("changes nothing of the request: %s", async (way) => {
      const pass = FAITHFUL[way];
      const engine = uncheckedEngine(vandal(undefined), {
        assemble: async ({ messages }: AssembleParams) => ({
          messages: messages.map((one) => pass?.(one)),
          estimatedTokens: 1,
        }),
      });
      await fc.assert(
        fc.asyncProperty(transcript, lastTurn, async (history, last) => {
          const messages = frozen([...history, ...last].map((one, at) => ({ ...one, timestamp: at + 1 })));
          const turn = await engineFixture(engine, { hasFile: false }).open();
          const shown = await turn.assemble(ask(messages, history.length, { tokenBudget: 1_000_000 }));
          const direct = applyPasses(messages, policy);
          if (shown) expect(applyPasses(shown.messages, policy)).toEqual(direct);
        }),
        { numRuns: 100 },
      );
    });
  },
);
