import { RunLog } from "../harness/log.ts";
import { startRun } from "../harness/run.ts";
import { parseDirectives } from "../reply/directives.ts";
import type { ChatPort, ChatRequest, OneShotRequest } from "../types/chat.ts";
import type { RunStream } from "../types/events.ts";
import { channelId, DEFAULT_ACCOUNT, runId, sessionKey, type SessionKey } from "../types/ids.ts";
import type { InboundMessage, Peer } from "../types/message.ts";
import { MethodError } from "../types/method.ts";
import type { ChatMessage } from "../types/model.ts";
import type { RunFacts } from "../types/run.ts";
import type { SessionWindow } from "../types/session.ts";
import { webEventKey, type WebMessage } from "../types/web-room.ts";
import { estimateTokens } from "../sessions/tokens.ts";
import { compactedText } from "./compaction.ts";
import { chatOf } from "./deliver-to.ts";
import type { Dispatch } from "./dispatch.ts";
import { plainStream } from "./plain-stream.ts";
import type { DispatchPorts } from "./ports.ts";

/** Gives a message to the channel that it comes through; resolves when it is durable. */
export type Say = (message: WebMessage) => Promise<void>;

/** The door for web, RPC, HTTP and command-line clients: their messages walk the same way as those of a channel. */
export function createChatPort(dispatch: Dispatch, ports: DispatchPorts, say: Say): ChatPort {
  return {
    send: (request) => send(request, dispatch, { ports, say }),
    oneShot: async (request) => plainStream(await oneShot(request, dispatch, ports)),
    abort: (key, only) => dispatch.stop(key, only),
    compact: async (key) => {
      const done = await dispatch.compact(key);
      if (done.kind !== "done") return { compacted: false, reason: compactedText(done) };
      const { tokensBefore, tokensAfter } = done;
      return { compacted: true, tokensBefore, tokensAfter };
    },
    active: (key) => activeRuns(dispatch, key),
    stream: (id) => {
      const found = dispatch.board.find(id);
      return found && plainStream(found);
    },
    compactions: (signal) => dispatch.compactions.watch(signal),
    runs: (signal) => plainStreams(dispatch.board.watch(signal)),
    plain: (text) => parseDirectives(text).text,
    approvals: {
      list: () => dispatch.approvals.list(),
      resolve: (id, decision) => dispatch.approvals.resolve(id, decision),
    },
  };
}

async function send(request: ChatRequest, dispatch: Dispatch, { ports, say }: { ports: DispatchPorts; say: Say }) {
  const id = runId(request.idempotencyKey);
  const eventKey = webEventKey(request.idempotencyKey);
  const find = () => ports.journal.inbox.find(channelId("webchat"), DEFAULT_ACCOUNT, eventKey);
  const known = await find();
  if (known) {
    checkSame(known.message, request);
    return { runId: id, status: "duplicate" as const };
  }
  const to = deliverTo(request, ports);
  const isBusy = dispatch.lanes.isBusy(request.sessionKey);
  await say({ ...request, ...(to && { deliverTo: to }), at: ports.clock.now() });
  const row = await find();
  if (row) checkSame(row.message, request);
  if (row) await dispatch.decided(row);
  return { runId: id, status: isBusy ? ("queued" as const) : ("started" as const) };
}

async function* plainStreams(streams: AsyncIterable<RunStream>): AsyncIterable<RunStream> {
  for await (const stream of streams) yield plainStream(stream);
}

/** Two clients that count from one must not lose each other's messages. Throws `MethodError`. */
function checkSame(known: InboundMessage, request: ChatRequest): void {
  if (known.text === request.text && known.options?.sessionKey === request.sessionKey) return;
  throw new MethodError("INVALID_REQUEST", "this idempotency key was used for another message", {
    details: { code: "IDEMPOTENCY_KEY_REUSED" },
  });
}

/** A run that has ended and whose reply is still on its way to a channel is not active any more. */
function activeRuns(dispatch: Dispatch, key: SessionKey | undefined): readonly RunFacts[] {
  return dispatch.lanes
    .runs()
    .filter(({ stream }) => !(stream instanceof RunLog && stream.ended))
    .map(({ stream }) => stream.facts)
    .filter((facts) => key === undefined || facts.sessionKey === key);
}

/** Throws `MethodError` when the session belongs to no chat. */
function deliverTo(request: ChatRequest, { sessions, settings }: DispatchPorts): Peer | undefined {
  if (request.deliver !== true) return undefined;
  const { sessionKey: key } = request;
  const peer = chatOf(key, sessions.peek(key), settings().defaultAgent);
  if (peer) return peer;
  throw new MethodError("INVALID_REQUEST", `session ${key} belongs to no chat, so nothing can be delivered`);
}

/** A run over a given history that leaves no session behind. */
async function oneShot(request: OneShotRequest, dispatch: Dispatch, ports: DispatchPorts) {
  const settings = ports.settings();
  const agent = settings.agents.get(request.agentId) ?? settings.agents.get(settings.defaultAgent);
  const last = request.messages.at(-1);
  if (!agent || last?.role !== "user") throw new Error("a one-shot request needs an agent and a user turn");
  const id = runId(request.idempotencyKey);
  const key = sessionKey(`openai:${id}`);
  const facts = { runId: id, sessionKey: key, sessionId: id, agentId: agent.id, trigger: "api" as const };
  const parts = typeof last.content === "string" ? [{ type: "text" as const, text: last.content }] : last.content;
  const tools = ports.tools(agent);
  const run = startRun(
    {
      facts,
      settings: agent,
      conversation: new MemoryConversation(request.messages.slice(0, -1)),
      turn: {
        entryId: id,
        text: parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n"),
        images: parts.flatMap((part) => (part.type === "image" ? [part] : [])),
        at: last.timestamp,
      },
      candidates: [agent.model.primary ?? (await ports.models.choose()), ...agent.model.fallbacks],
      thinking: agent.thinking,
      timeoutMs: agent.timeoutMs,
      tools,
      systemPrompt: (model) =>
        ports.systemPrompt({
          agent,
          model,
          tools,
          session: { key, entry: { sessionId: id, updatedAt: last.timestamp } },
          ...(request.system !== undefined && { extra: request.system }),
        }),
    },
    {
      ...ports,
      log: ports.log.with({ run: id, session: key }),
      approvals: dispatch.approvals.deskFor(facts, {
        asked: (approval) => run.stream.emit({ type: "approval_request", approval }),
        answered: (approval, decision) => run.stream.emit({ type: "approval_end", id: approval, decision }),
      }),
    },
  );
  if (request.signal.aborted) run.abort("user");
  request.signal.addEventListener("abort", () => run.abort("user"), { once: true });
  dispatch.board.add(run.stream);
  return run.stream;
}

/** A conversation that nobody keeps. */
class MemoryConversation {
  readonly #messages: { entryId: string; message: ChatMessage }[];
  leafId: string | null;

  constructor(messages: readonly ChatMessage[]) {
    this.#messages = messages.map((message, index) => ({ entryId: `given-${index}`, message }));
    this.leafId = this.#messages.at(-1)?.entryId ?? null;
  }

  async window(): Promise<SessionWindow> {
    const estimatedTokens = this.#messages.reduce((sum, row) => sum + estimateTokens(row.message), 0);
    return { messages: this.#messages, estimatedTokens, older: false };
  }

  async after(): Promise<undefined> {
    return undefined;
  }

  async append(body: { type: string; message?: ChatMessage }, options: { id?: string } = {}): Promise<string> {
    const id = options.id ?? `own-${this.#messages.length}`;
    if (body.message) this.#messages.push({ entryId: id, message: body.message });
    this.leafId = id;
    return id;
  }
}
