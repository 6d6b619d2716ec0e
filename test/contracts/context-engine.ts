import { describe, expect, it } from "vitest";
import { withTurn } from "../../src/history/engines/turn/coverage.ts";
import { readAnswer } from "../../src/history/engines/turn/read-answer.ts";
import { readMessage } from "../../src/history/engines/turn/read-message.ts";
import { estimateTokens } from "../../src/sessions/transcript/tokens.ts";
import type {
  AgentMessage,
  AssembleParams,
  AssembleResult,
  ContextEngine,
} from "../../src/types/engine/context-engine.ts";
import type { ChatMessage } from "../../src/types/run/model.ts";
import { answer, result, engineFixture, textOf, turns, user } from "../kit/engine.ts";

export interface EngineUnderTest {
  readonly name: string;
  /** A fresh engine without a memory of anything. Called for each test. */
  open(): ContextEngine | Promise<ContextEngine>;
}

/** A session as the host speaks of it. */
interface Spoken {
  readonly engine: ContextEngine;
  readonly sessionId: string;
  readonly sessionKey: string;
  readonly sessionFile: string;
  readonly abortSignal: AbortSignal;
}

/**
 * What every context engine owes the host; run against the engine itself, called as the host calls it. What an engine does
 * not have (`bootstrap`, `afterTurn`, …) is left out.
 */
export function contextEngineContract({ name, open }: EngineUnderTest): void {
  const speak = async (engine: ContextEngine): Promise<Spoken> => {
    const { sessionId, sessionKey, sessionFile } = engineFixture(engine).options.session;
    const spoken = { engine, sessionId, sessionKey, sessionFile, abortSignal: new AbortController().signal };
    await engine.bootstrap?.(session(spoken));
    return spoken;
  };

  describe(`the context engine ${name}`, () => {
    it("names itself and has what is required", async () => {
      const { info, ingest, assemble, compact } = await open();
      expect(info.id).toMatch(/\S/);
      expect(info.name).toMatch(/\S/);
      expect([ingest, assemble, compact].map((method) => typeof method)).toEqual(["function", "function", "function"]);
    });

    it("answers with messages that can be sent and an estimate", async () => {
      const spoken = await speak(await open());
      const history = [...turns(3), user("look"), answer("looking", "c1"), result("c1", "found"), answer("there")];
      await say(spoken, history);
      const shown = await assemble(spoken, history, user("and now?"));
      expect(shown.messages.every((message) => readMessage(message) !== undefined)).toBe(true);
      expect(shown.messages.length).toBeGreaterThan(0);
      expect(shown.estimatedTokens).toBeGreaterThan(0);
      expect(Number.isFinite(shown.estimatedTokens)).toBe(true);
      expect(["string", "undefined"]).toContain(typeof shown.systemPromptAddition);
    });

    it("keeps the order of what was said", async () => {
      const spoken = await speak(await open());
      const history = turns(8);
      await say(spoken, history);
      const { messages } = await assemble(spoken, history, user("next"));
      const order = history.map(textOf);
      const seen = messages.map(textOf).filter((text) => order.includes(text));
      expect(seen).toEqual(order.filter((text) => seen.includes(text)));
      expect(seen.at(-1)).toBe(order.at(-1));
    });

    it("leaves the user's turn to be shown once, whatever it says of it", async () => {
      const spoken = await speak(await open());
      const history = turns(3);
      await say(spoken, history);
      const asked = user("the words of this turn");
      const said = await assemble(spoken, history, asked);
      const shown = readAnswer(said, {
        told: [...history, asked],
        earlier: history.length,
        turn: [asked],
        tokenBudget: 100_000,
        cover: withTurn,
      });
      if ("unfit" in shown) return expect(shown.unfit).toBe("");
      expect(shown.messages.filter((message) => textOf(message) === "the words of this turn")).toHaveLength(1);
      expect(shown.messages.at(-1)).toBe(asked);
    });

    it("keeps to the budget, or says that it does not", async () => {
      const spoken = await speak(await open());
      const history = turns(60, "many words ".repeat(20));
      await say(spoken, history);
      for (const tokenBudget of [4000, 1000]) {
        const shown = await assemble(spoken, history, user("next"), { tokenBudget });
        const tokens = shown.messages.reduce((sum, message) => sum + estimateTokens(message), 0);
        expect(tokens <= tokenBudget * 1.25 || shown.estimatedTokens > tokenBudget).toBe(true);
      }
    });

    it("compacts with an answer that says what came of it", async () => {
      const spoken = await speak(await open());
      const history = turns(20, "many words ".repeat(20));
      await say(spoken, history);
      const done = await spoken.engine.compact({ ...session(spoken), force: true, tokenBudget: 2000 });
      expect(typeof done.ok).toBe("boolean");
      expect(typeof done.compacted).toBe("boolean");
      if (!done.compacted) return expect(done.reason).toMatch(/\S/);
      expect(done.ok).toBe(true);
      expect(done.result?.tokensBefore).toBeGreaterThanOrEqual(0);
      if (done.result?.tokensAfter !== undefined)
        expect(done.result.tokensAfter).toBeLessThan(done.result.tokensBefore);
    });

    it("keeps a message once, however often it receives it", async () => {
      const spoken = await speak(await open());
      const history = turns(2);
      for (const message of [...history, ...history])
        await spoken.engine.ingest({ ...session(spoken), message: structuredClone(message) });
      const { messages } = await assemble(spoken, history, user("next"));
      const texts = messages.map(textOf).filter((text) => history.some((message) => textOf(message) === text));
      expect(texts).toEqual([...new Set(texts)]);
    });

    it("does not mix sessions that speak at once", async () => {
      const engine = await open();
      const spoken = await Promise.all(Array.from({ length: 5 }, () => speak(engine)));
      const histories = spoken.map((_, at) => turns(3, `secret-${at}-`));
      await Promise.all(spoken.map((one, at) => say(one, histories[at]!)));
      const shown = await Promise.all(spoken.map((one, at) => assemble(one, histories[at]!, user(`secret-${at}-now`))));
      for (const [at, { messages }] of shown.entries()) {
        const strangers = JSON.stringify(messages)
          .match(/secret-\d-/g)
          ?.filter((word) => word !== `secret-${at}-`);
        expect(strangers ?? []).toEqual([]);
      }
    });

    it("does not mind parameters and members that it does not know", async () => {
      const spoken = await speak(await open());
      const history = turns(2);
      await say(spoken, history, { somethingNew: { deep: [1] } });
      const more = { somethingNew: true, runtimeContext: { somethingNew: () => 1 }, tokenBudget: 50_000 };
      expect((await assemble(spoken, history, user("next"), more)).messages.length).toBeGreaterThan(0);
      await expect(
        Promise.resolve(spoken.engine.compact({ ...session(spoken), ...more, tokenBudget: 50_000 })),
      ).resolves.toHaveProperty("ok");
    });

    it("can be disposed twice, and opened again", async () => {
      const spoken = await speak(await open());
      const history = turns(2);
      await say(spoken, history);
      await spoken.engine.dispose?.();
      await spoken.engine.dispose?.();
      expect((await assemble(spoken, history, user("next"))).messages.length).toBeGreaterThan(0);
    });
  });
}

const session = ({ sessionId, sessionKey, sessionFile, abortSignal }: Spoken) => ({
  sessionId,
  sessionKey,
  sessionFile,
  abortSignal,
  runtimeContext: {
    llm: { complete: async () => ({ text: "A summary.", provider: "fake", model: "fake" }) },
    tokenBudget: 128_000,
  },
});

/** Tells a whole conversation as the host does behind a run. */
async function say(spoken: Spoken, messages: readonly ChatMessage[], more: object = {}): Promise<void> {
  const { engine } = spoken;
  const copies = structuredClone([...messages]);
  const shared = { ...session(spoken), ...more };
  if (engine.afterTurn) return engine.afterTurn({ ...shared, messages: copies, prePromptMessageCount: 0 });
  if (engine.ingestBatch) return void (await engine.ingestBatch({ ...shared, messages: copies }));
  for (const message of copies) await engine.ingest({ ...shared, message });
}

function assemble(
  spoken: Spoken,
  history: readonly ChatMessage[],
  asked: AgentMessage,
  more: Partial<AssembleParams> = {},
): Promise<AssembleResult> {
  const messages = structuredClone([...history, asked]);
  return spoken.engine.assemble({
    ...session(spoken),
    messages,
    prePromptMessageCount: history.length,
    inputProvenance: messages.map(() => undefined),
    internalEvents: messages.map(() => undefined),
    tokenBudget: 100_000,
    availableTools: new Set(["read"]),
    citationsMode: "auto",
    model: "fake",
    prompt: textOf(asked),
    ...more,
  });
}
