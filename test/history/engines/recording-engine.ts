import type {
  AgentMessage,
  AssembleParams,
  CompactParams,
  ContextEngine,
  ContextEngineInfo,
} from "../../../src/types/engine/context-engine.ts";
import { estimateTokens } from "../../../src/sessions/transcript/tokens.ts";

export interface Call {
  readonly method: string;
  readonly params: Record<string, unknown>;
}

const known = (message: AgentMessage): string => JSON.stringify([message.role, message.content, message.timestamp]);

/**
 * An engine with a memory of its own: it keeps each message once, by session, and shows the newest that fit, with a line
 * on what it left out. It writes down every call, and breaks when the host does not keep to the contract.
 */
export class RecordingEngine implements ContextEngine {
  readonly info: ContextEngineInfo;
  readonly calls: Call[] = [];
  readonly #memory = new Map<string, Map<string, AgentMessage>>();
  readonly #summaries = new Map<string, string>();

  constructor(info: Partial<ContextEngineInfo> = {}) {
    this.info = {
      id: "recording",
      name: "Recording",
      ownsCompaction: true,
      turnMaintenanceMode: "background",
      ...info,
    };
  }

  get order(): readonly string[] {
    return this.calls.map((call) => call.method);
  }

  first<T = Record<string, unknown>>(method: string): T {
    return this.calls.find((call) => call.method === method)?.params as T;
  }

  last<T = Record<string, unknown>>(method: string): T {
    return this.calls.findLast((call) => call.method === method)?.params as T;
  }

  #note(method: string, params: object): void {
    const { messages } = params as { messages?: readonly unknown[] };
    this.calls.push({ method, params: { ...params, ...(messages && { messages: [...messages] }) } });
  }

  async bootstrap(params: { sessionId: string; sessionFile: string }) {
    this.#note("bootstrap", params);
    return { bootstrapped: true, importedMessages: 0 };
  }

  async maintain(params: { sessionId: string }) {
    this.#note("maintain", params);
    return { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
  }

  async ingest(params: { sessionId: string; message: AgentMessage }) {
    this.#note("ingest", params);
    return { ingested: this.#keep(params.sessionId, [params.message]) === 1 };
  }

  async afterTurn(params: { sessionId: string; messages: AgentMessage[]; prePromptMessageCount: number }) {
    this.#note("afterTurn", params);
    this.#keep(params.sessionId, params.messages.slice(params.prePromptMessageCount));
  }

  #keep(sessionId: string, messages: readonly AgentMessage[]): number {
    const memory = this.#memory.get(sessionId) ?? new Map<string, AgentMessage>();
    this.#memory.set(sessionId, memory);
    const before = memory.size;
    for (const message of messages) memory.set(known(message), structuredClone(message));
    return memory.size - before;
  }

  async assemble(params: AssembleParams) {
    this.#note("assemble", params);
    const { sessionId, messages, tokenBudget = 128_000, prePromptMessageCount = 0 } = params;
    for (const signals of [params.inputProvenance, params.internalEvents])
      if (signals?.length !== messages.length) throw new Error("the signals do not fit the messages");
    this.#keep(sessionId, messages.slice(0, prePromptMessageCount));
    const all = [...(this.#memory.get(sessionId)?.values() ?? [])];
    const shown = newest(all, tokenBudget);
    const summary = this.#summaries.get(sessionId);
    // It may do with them as it likes.
    for (const message of messages) message.content = "gone";
    messages.length = 0;
    return {
      messages: structuredClone(shown),
      estimatedTokens: shown.reduce((sum, message) => sum + estimateTokens(message), 0),
      ...(summary !== undefined && { systemPromptAddition: summary }),
    };
  }

  async compact(params: CompactParams) {
    this.#note("compact", params);
    const memory = this.#memory.get(params.sessionId);
    if (!memory || memory.size < 4) return { ok: true, compacted: false, reason: "nothing to compact" };
    const tokensBefore = [...memory.values()].reduce((sum, message) => sum + estimateTokens(message), 0);
    for (const key of [...memory.keys()].slice(0, -2)) memory.delete(key);
    this.#summaries.set(params.sessionId, "Older turns were compacted.");
    const tokensAfter = [...memory.values()].reduce((sum, message) => sum + estimateTokens(message), 0);
    return { ok: true, compacted: true, result: { tokensBefore, tokensAfter } };
  }

  async dispose() {
    this.#note("dispose", {});
  }
}

/** Whole turns from the end that fit; at least something. */
function newest(messages: readonly AgentMessage[], budget: number): AgentMessage[] {
  let left = budget;
  const from = messages.findLastIndex((message) => (left -= estimateTokens(message)) < 0);
  const fitting = messages.slice(from + 1);
  const start = fitting.findIndex((message) => message.role === "user");
  return start === -1 ? messages.slice(-1) : fitting.slice(start);
}
