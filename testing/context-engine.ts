import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withTurn } from "../src/history/engines/turn/coverage.ts";
import { readAnswer } from "../src/history/engines/turn/read-answer.ts";
import { readEngineMessage } from "../src/history/engines/turn/read-engine-message.ts";
import { estimateTokens } from "../src/sessions/transcript/tokens.ts";
import type {
  AgentMessage,
  AssembleParams,
  AssembleResult,
  ContextEngine,
} from "../src/types/engine/context-engine.ts";
import type { ChatMessage } from "../src/types/run/model.ts";
import { answer, result, textOf, turns, user } from "./conversation.ts";
import type { TestRunner } from "./runner.ts";

export interface EngineUnderTest {
  readonly name: string;
  /** A fresh engine without a memory of anything. Called for each test. */
  open(): ContextEngine | Promise<ContextEngine>;
}

/** A session with an engine, and the gateway's facts about it for each call. */
interface Session {
  readonly engine: ContextEngine;
  readonly sessionId: string;
  readonly sessionKey: string;
  readonly sessionFile: string;
  readonly abortSignal: AbortSignal;
}

/**
 * Tests what every context engine owes the gateway, with the calls that the gateway makes. Optional methods that the engine
 * does not have (`bootstrap`, `afterTurn`, …) are not called.
 */
export function contextEngineContract(
  { afterEach, describe, expect, test }: TestRunner,
  { name, open }: EngineUnderTest,
): void {
  const folders: string[] = [];
  let sessions = 0;
  const begin = async (engine: ContextEngine): Promise<Session> => {
    const folder = mkdtempSync(join(tmpdir(), "engine-contract-"));
    folders.push(folder);
    const sessionId = `session-${(sessions += 1)}`;
    const sessionFile = join(folder, `${sessionId}.jsonl`);
    writeFileSync(sessionFile, `${JSON.stringify({ type: "session", version: 3, id: sessionId })}\n`);
    const sessionKey = `webchat:default:${sessionId}`;
    const session = { engine, sessionId, sessionKey, sessionFile, abortSignal: new AbortController().signal };
    await engine.bootstrap?.(fieldsOf(session));
    return session;
  };
  describe(`the context engine ${name}`, () => {
    afterEach(() => {
      for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
    });

    test("names itself and has what is required", async () => {
      const { info, ingest, assemble, compact } = await open();
      expect(info.id).toMatch(/\S/);
      expect(info.name).toMatch(/\S/);
      expect([ingest, assemble, compact].map((method) => typeof method)).toEqual(["function", "function", "function"]);
    });

    test("answers with messages that can be sent and an estimate", async () => {
      const session = await begin(await open());
      const history = [...turns(3), user("look"), answer("looking", "c1"), result("c1", "found"), answer("there")];
      await report(session, history);
      const shown = await assemble(session, history, user("and now?"));
      expect(shown.messages.every((message) => readEngineMessage(message) !== undefined)).toBe(true);
      expect(shown.messages.length).toBeGreaterThan(0);
      expect(shown.estimatedTokens).toBeGreaterThan(0);
      expect(Number.isFinite(shown.estimatedTokens)).toBe(true);
      expect(["string", "undefined"]).toContain(typeof shown.systemPromptAddition);
    });

    test("keeps the order of what was said", async () => {
      const session = await begin(await open());
      const history = turns(8);
      await report(session, history);
      const { messages } = await assemble(session, history, user("next"));
      const order = history.map(textOf);
      const seen = messages.map(textOf).filter((text) => order.includes(text));
      expect(seen).toEqual(order.filter((text) => seen.includes(text)));
      expect(seen.at(-1)).toBe(order.at(-1));
    });

    test("leaves the user's turn to be shown once, whatever it says of it", async () => {
      const session = await begin(await open());
      const history = turns(3);
      await report(session, history);
      const asked = user("the words of this turn");
      const said = await assemble(session, history, asked);
      const shown = readAnswer(said, {
        given: [...history, asked],
        earlier: history.length,
        turn: [asked],
        tokenBudget: 100_000,
        cover: withTurn,
      });
      if ("unfit" in shown) return expect(shown.unfit).toBe("");
      expect(shown.messages.filter((message) => textOf(message) === "the words of this turn")).toHaveLength(1);
      expect(shown.messages.at(-1)).toBe(asked);
    });

    test("keeps to the budget, or says that it does not", async () => {
      const session = await begin(await open());
      const history = turns(60, "many words ".repeat(20));
      await report(session, history);
      for (const tokenBudget of [4000, 1000]) {
        const shown = await assemble(session, history, user("next"), { tokenBudget });
        const tokens = shown.messages.reduce((sum, message) => sum + estimateTokens(message), 0);
        expect(tokens <= tokenBudget * 1.25 || shown.estimatedTokens > tokenBudget).toBe(true);
      }
    });

    test("compacts with an answer that says what came of it", async () => {
      const session = await begin(await open());
      const history = turns(20, "many words ".repeat(20));
      await report(session, history);
      const done = await session.engine.compact({ ...fieldsOf(session), force: true, tokenBudget: 2000 });
      expect(typeof done.ok).toBe("boolean");
      expect(typeof done.compacted).toBe("boolean");
      if (!done.compacted) return expect(done.reason).toMatch(/\S/);
      expect(done.ok).toBe(true);
      expect(done.result?.tokensBefore).toBeGreaterThanOrEqual(0);
      if (done.result?.tokensAfter !== undefined)
        expect(done.result.tokensAfter).toBeLessThan(done.result.tokensBefore);
    });

    test("keeps a message once, however often it receives it", async () => {
      const session = await begin(await open());
      const history = turns(2);
      for (const message of [...history, ...history])
        await session.engine.ingest({ ...fieldsOf(session), message: structuredClone(message) });
      const { messages } = await assemble(session, history, user("next"));
      const texts = messages.map(textOf).filter((text) => history.some((message) => textOf(message) === text));
      expect(texts).toEqual([...new Set(texts)]);
    });

    test("does not mix sessions that run at once", async () => {
      const engine = await open();
      const all = await Promise.all(Array.from({ length: 5 }, () => begin(engine)));
      const histories = all.map((_, at) => turns(3, `secret-${at}-`));
      await Promise.all(all.map((one, at) => report(one, histories[at]!)));
      const shown = await Promise.all(all.map((one, at) => assemble(one, histories[at]!, user(`secret-${at}-now`))));
      for (const [at, { messages }] of shown.entries()) {
        const strangers = JSON.stringify(messages)
          .match(/secret-\d-/g)
          ?.filter((word) => word !== `secret-${at}-`);
        expect(strangers ?? []).toEqual([]);
      }
    });

    test("does not mind parameters and members that it does not know", async () => {
      const session = await begin(await open());
      const history = turns(2);
      await report(session, history, { somethingNew: { deep: [1] } });
      const more = { somethingNew: true, runtimeContext: { somethingNew: () => 1 }, tokenBudget: 50_000 };
      expect((await assemble(session, history, user("next"), more)).messages.length).toBeGreaterThan(0);
      await expect(
        Promise.resolve(session.engine.compact({ ...fieldsOf(session), ...more, tokenBudget: 50_000 })),
      ).resolves.toHaveProperty("ok");
    });

    test("can be disposed twice, and opened again", async () => {
      const session = await begin(await open());
      const history = turns(2);
      await report(session, history);
      await session.engine.dispose?.();
      await session.engine.dispose?.();
      expect((await assemble(session, history, user("next"))).messages.length).toBeGreaterThan(0);
    });
  });
}

const fieldsOf = ({ sessionId, sessionKey, sessionFile, abortSignal }: Session) => ({
  sessionId,
  sessionKey,
  sessionFile,
  abortSignal,
  runtimeContext: {
    llm: { complete: async () => ({ text: "A summary.", provider: "fake", model: "fake" }) },
    tokenBudget: 128_000,
  },
});

/** Passes a whole conversation to the engine, as the gateway does after a run. */
async function report(session: Session, messages: readonly ChatMessage[], more: object = {}): Promise<void> {
  const { engine } = session;
  const copies = structuredClone([...messages]);
  const shared = { ...fieldsOf(session), ...more };
  if (engine.afterTurn) return engine.afterTurn({ ...shared, messages: copies, prePromptMessageCount: 0 });
  if (engine.ingestBatch) return void (await engine.ingestBatch({ ...shared, messages: copies }));
  for (const message of copies) await engine.ingest({ ...shared, message });
}

function assemble(
  session: Session,
  history: readonly ChatMessage[],
  asked: AgentMessage,
  more: Partial<AssembleParams> = {},
): Promise<AssembleResult> {
  const messages = structuredClone([...history, asked]);
  return session.engine.assemble({
    ...fieldsOf(session),
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
