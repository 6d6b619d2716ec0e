import type {
  ChatPort,
  ChatRequest,
  CompactionUpdate,
  OneShotRequest,
  WaitingInput,
} from "../../../src/types/chat/chat.ts";
import type { PersonsAnswer } from "../../../src/types/answers/approvals.ts";
import { RunLog } from "../../../src/harness/log/run-log.ts";
import type { DeltaPace, RunEvent, RunEventBody, RunStream } from "../../../src/types/run/events.ts";
import type { Scope } from "../../../src/types/method.ts";
import { agentId, runId, sessionKey, type RunId, type SessionKey } from "../../../src/types/ids.ts";
import type { AssistantMessage, Usage } from "../../../src/types/run/model.ts";
import type { Receipt, RunFacts, RunResult } from "../../../src/types/run/run.ts";
import type { QuestionEnd } from "../../../src/types/chat/question-end.ts";
import type { Approval, ApprovalDecision } from "../../../src/types/run/tool.ts";
import { Feed } from "../../../src/utils/feed.ts";

export const USAGE: Usage = {
  input: 7,
  output: 3,
  cacheRead: 2,
  cacheWrite: 1,
  totalTokens: 13,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};
export const RECEIPT: Receipt = { model: { provider: "demo", id: "echo" }, usage: USAGE, calls: 1, durationMs: 5 };

export const facts = (id: string, key = "webchat:default:operator"): RunFacts => ({
  runId: runId(id),
  sessionKey: sessionKey(key),
  sessionId: "session-1",
  agentId: agentId("main"),
  trigger: "message",
});

export const assistant = (text: string): AssistantMessage => ({
  role: "assistant",
  content: [{ type: "text", text }],
  api: "demo",
  provider: "demo",
  model: "echo",
  usage: USAGE,
  stopReason: "stop",
  timestamp: 1,
});

/** The events of one assistant message told word by word. */
export function says(text: string): RunEventBody[] {
  const words = text.split(/(?<= )/);
  const deltas = words.map((delta, index): RunEventBody => ({
    type: "text_delta",
    delta,
    text: words.slice(0, index + 1).join(""),
  }));
  return [
    { type: "message_start" },
    ...deltas,
    { type: "message_end", message: assistant(text), text, entryId: `entry-${text.length}` },
  ];
}

export const ends = (result: RunResult = { kind: "replied", stop: "stop" }): RunEventBody => ({
  type: "run_end",
  result,
  receipt: RECEIPT,
  endedAt: 2_000,
});

/** A run whose events a test tells, one by one. */
export class ScriptedRun implements RunStream {
  readonly facts: RunFacts;
  readonly done: Promise<RunResult>;
  readonly #log: RunLog;

  constructor(of: RunFacts) {
    this.facts = of;
    this.#log = new RunLog(of);
    this.done = this.#log.done;
  }

  tell(...bodies: readonly RunEventBody[]): void {
    for (const body of bodies) this.#log.emit(body);
  }

  /** The time of an event is its number: a second after 1970, and one millisecond more for each. */
  async *watch(from?: number, pace?: DeltaPace): AsyncIterable<RunEvent> {
    for await (const event of this.#log.watch(from, pace)) yield { ...event, ts: 999 + event.seq };
  }
}

type Script = (run: ScriptedRun, request: ChatRequest | OneShotRequest) => void;

/** What `dispatch/` would be, told by the test what to answer. */
export class ScriptedChat implements ChatPort {
  readonly plain = (text: string): string => text;
  readonly requests: (ChatRequest | OneShotRequest)[] = [];
  readonly waiting: Approval[] = [];
  /** The answers of questions that wait, by their ids. */
  readonly offers = new Map<string, readonly PersonsAnswer[]>();
  /** How questions ended, by their ids. */
  readonly ended = new Map<string, QuestionEnd>();
  readonly decisions: [string, ApprovalDecision][] = [];
  readonly aborted: [SessionKey, RunId | undefined][] = [];
  script: Script;
  /** Messages that wait. */
  readonly queued: (WaitingInput & { readonly sessionKey: SessionKey })[] = [];
  /** What `compactions` tells. */
  readonly compacted = new Feed<CompactionUpdate>();
  readonly #runs = new Map<RunId, ScriptedRun>();
  readonly #feed = new Feed<RunStream>();

  constructor(script: Script) {
    this.script = script;
  }

  async send(request: ChatRequest) {
    const id = runId(request.idempotencyKey);
    if (this.#runs.has(id)) return { runId: id, status: "duplicate" as const };
    this.#start(facts(id, request.sessionKey), request);
    return { runId: id, status: "started" as const };
  }

  /** Texts with these words need these scopes. */
  readonly scopes = new Map<string, Scope>();

  async oneShot(request: OneShotRequest) {
    return this.#start({ ...facts(request.idempotencyKey), agentId: request.agentId, trigger: "api" }, request);
  }

  async abort(key: SessionKey, only?: RunId) {
    this.aborted.push([key, only]);
    const ended = this.active(key).filter((item) => only === undefined || item.runId === only);
    for (const item of ended) this.run(item.runId)?.tell(ends({ kind: "aborted", by: "user" }));
    for (const item of ended) this.#runs.delete(item.runId);
    return ended.map((item) => item.runId);
  }

  async compact() {
    return { compacted: false, reason: "Nothing to compact." };
  }

  compactions(signal: AbortSignal) {
    return this.compacted.watch(signal);
  }

  active(key?: SessionKey) {
    const all = [...this.#runs.values()].map((run) => run.facts);
    return key === undefined ? all : all.filter((item) => item.sessionKey === key);
  }

  stream(id: RunId) {
    return this.#runs.get(id);
  }

  readonly inputs = {
    scopesFor: (text: string) => [...this.scopes].flatMap(([word, scope]) => (text.includes(word) ? [scope] : [])),
    named: async () => [],
    waitingIn: async (key: SessionKey) => this.queued.filter((one) => one.sessionKey === key),
  };

  async runsOf(_key: SessionKey, turnIds: readonly string[]) {
    const runs = [...this.#runs.values()].filter(({ facts: { turnId = "" } }) => turnIds.includes(turnId));
    return new Map(runs.map(({ facts: { turnId = "", runId: id } }) => [turnId, id]));
  }

  run(id: RunId): ScriptedRun | undefined {
    return this.#runs.get(id);
  }

  runs(signal: AbortSignal) {
    return this.#feed.watch(signal);
  }

  readonly approvals = {
    list: () => this.waiting,
    resolve: (id: string, decision: ApprovalDecision) => {
      this.decisions.push([id, decision]);
      return this.waiting.some((approval) => approval.id === id);
    },
    offered: (id: string) => this.offers.get(id),
    endOf: async (id: string) => this.ended.get(id),
    whenEnded: () => undefined,
    history: async () => [],
    askFor: () => undefined,
  };

  begin(of: RunFacts): ScriptedRun {
    const run = new ScriptedRun(of);
    this.#runs.set(of.runId, run);
    this.#feed.publish(run);
    run.tell({ type: "run_start", facts: of, startedAt: 1_000 });
    return run;
  }

  #start(of: RunFacts, request: ChatRequest | OneShotRequest): ScriptedRun {
    this.requests.push(request);
    const run = this.begin(of);
    this.script(run, request);
    return run;
  }
}
