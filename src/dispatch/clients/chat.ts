import { compactedSizes } from "../../harness/compaction/compact.ts";
import { RunLog } from "../../harness/log/run-log.ts";
import { withoutTags } from "../../harness/run/unanswered.ts";
import { parseReply } from "../../reply/plain-reply.ts";
import type { ChatPort, ChatRequest, InputReceipt, OneShotRequest, WaitingInput } from "../../types/chat/chat.ts";
import type { RunStream } from "../../types/run/events.ts";
import { channelId, DEFAULT_ACCOUNT, runId, sessionKey, type RunId, type SessionKey } from "../../types/ids.ts";
import type { InboundMessage, Peer, MediaItem } from "../../types/chat/message.ts";
import { MethodError } from "../../types/method.ts";
import type { RunFacts } from "../../types/run/run.ts";
import { webEventKey, type WebMessage } from "../../types/chat/web-clients.ts";
import { scopesFor } from "../commands/parse-command.ts";
import { compactedText } from "../maintenance/compactions.ts";
import { chatOf } from "../../sessions/chat-of.ts";
import type { Dispatch } from "../dispatch.ts";
import { plainStream } from "./plain-stream.ts";
import type { DispatchPorts } from "../ports.ts";
import { runIdOf, turnIdOf } from "../turn-facts.ts";
import { startRun, type Run } from "../../harness/run.ts";
import { estimateInRequest } from "../../sessions/transcript/tokens.ts";
import { parseModelName, type ChatMessage, type UserMessage } from "../../types/run/model.ts";
import { OPERATOR } from "../../types/run/principal.ts";
import type { SessionWindow } from "../../types/session.ts";
import type { AgentSettings } from "../../types/settings.ts";
import { prompterFor } from "../approvals/prompter.ts";
import { mediaLines } from "../../prompt/body.ts";
import { candidatesFor } from "../candidates.ts";
import { fetchMedia } from "../media/media.ts";
import { offeredTools, runDepsOf } from "../turn/request.ts";
import { clientPrompt, withClientTools } from "../client-tools.ts";
import type { RunRequest } from "../../harness/request.ts";
import { runEndOf } from "../answer/run-end.ts";
import { ONE_SHOT } from "../turn-kinds.ts";

/** Gives a client's message to its channel. Resolves when the message is durable. */
export type Submit = (message: WebMessage) => Promise<void>;

/**
 * The port for web, RPC, HTTP and command-line clients. Their messages pass the same pipeline as those of a channel.
 */
export function createChatPort(dispatch: Dispatch, ports: DispatchPorts, submit: Submit): ChatPort {
  return {
    send: (request) => send(request, dispatch, { ports, submit }),
    oneShot: async (request) => plainStream(await oneShot(request, dispatch, ports)),
    abort: (key, only) => abort(key, only, dispatch),
    compact: async (key) => {
      const done = await dispatch.compact(key);
      if (done.kind !== "done") return { compacted: false, reason: compactedText(done) };
      const { kind: _kind, ...sizes } = compactedSizes(done);
      return { compacted: true, ...sizes };
    },
    active: (key) => activeRuns(dispatch, key),
    stream: (id) => {
      const found = dispatch.registry.find(id);
      return found && plainStream(found);
    },
    runsOf: (key, turnIds) => runsOfTurns(key, turnIds, dispatch, ports),
    inputs: {
      scopesFor: (text) => scopesFor(text, ports.settings(), dispatch.commands),
      named: (runIds) => inputsOf(runIds, ports.storage.journal.inbox),
      waitingIn: (key) => waitingIn(key, dispatch, ports),
    },
    compactions: (signal) => dispatch.compactions.watch(signal),
    runs: (signal) => plainStreams(dispatch.registry.watch(signal)),
    plain: (text, message) => parseReply(withoutTags(text, message)).text,
    approvals: {
      list: () => dispatch.approvals.list(),
      resolve: (id, decision) => dispatch.approvals.resolve(id, decision) !== undefined,
      offered: (id) => dispatch.approvals.offered(id),
      endOf: (id) => dispatch.approvals.endOf(id),
      whenEnded: (id) => dispatch.approvals.whenEnded(id),
      history: () => dispatch.approvals.history(),
      askFor: (question) => dispatch.approvals.askFor(question),
    },
  };
}

/** Ends runs of a session. A run that has its result already is not among the ended ones, even while its turn is finished. */
async function abort(key: SessionKey, only: RunId | undefined, dispatch: Dispatch): Promise<readonly RunId[]> {
  const over = new Set(dispatch.lanes.runs().flatMap(({ stream: { ended, facts } }) => (ended ? [facts.runId] : [])));
  const ended = await dispatch.stop(key, only === undefined ? {} : { only });
  return ended.filter((id) => !over.has(id));
}

async function send(
  request: ChatRequest,
  dispatch: Dispatch,
  { ports, submit }: { ports: Pick<DispatchPorts, "clock" | "storage" | "settings">; submit: Submit },
) {
  const id = runId(request.idempotencyKey);
  const eventKey = webEventKey(request.idempotencyKey);
  const find = () => ports.storage.journal.inbox.find(channelId("webchat"), DEFAULT_ACCOUNT, eventKey);
  const known = await find();
  if (known) {
    checkSame(known.message, request);
    return { runId: id, status: "duplicate" as const };
  }
  const to = deliverTo(request, ports);
  const isBusy = dispatch.lanes.isBusy(request.sessionKey);
  await submit({ ...request, ...(to && { deliverTo: to }), at: ports.clock.now() });
  const row = await find();
  if (row) checkSame(row.message, request);
  if (row) await dispatch.decided(row);
  return { runId: id, status: isBusy ? ("queued" as const) : ("started" as const) };
}

async function inputsOf(
  runIds: readonly string[],
  inbox: Pick<DispatchPorts["storage"]["journal"]["inbox"], "find">,
): Promise<readonly InputReceipt[]> {
  const find = (id: string) => inbox.find(channelId("webchat"), DEFAULT_ACCOUNT, webEventKey(id));
  const rows = await Promise.all(runIds.map(async (id) => [runId(id), await find(id)] as const));
  return rows.flatMap(([id, row]): InputReceipt[] => {
    if (!row) return [];
    const isTaken = row.state === "done" || row.turnId !== undefined;
    return [
      isTaken ? { runId: id, state: "consumed", consumedByEventId: turnIdOf(row) } : { runId: id, state: "pending" },
    ];
  });
}

async function runsOfTurns(
  key: SessionKey,
  turnIds: readonly string[],
  { registry }: Pick<Dispatch, "registry">,
  { storage }: Pick<DispatchPorts, "storage">,
): Promise<ReadonlyMap<string, RunId>> {
  const lately = turnIds.flatMap((id) => {
    const run = registry.runOf(id);
    return run === undefined ? [] : [[id, run] as const];
  });
  // The registry forgets runs, and all of them at a restart.
  if (lately.length === turnIds.length) return new Map(lately);
  return new Map([...(await storage.journal.inbox.runsOf(key, turnIds.length)), ...lately]);
}

/** A message that was dropped may still be part of a turn that waits with others. */
async function waitingIn(
  key: SessionKey,
  { lanes }: Pick<Dispatch, "lanes">,
  { kinds, storage }: Pick<DispatchPorts, "kinds" | "storage">,
): Promise<readonly WaitingInput[]> {
  const said = lanes.waitingIn(key).filter(({ message }) => kinds.of(message).takesCommands);
  const { inbox } = storage.journal;
  const rows = await Promise.all(
    said.map(({ message: { from, eventKey } }) => inbox.find(from.channel, from.account, eventKey)),
  );
  return said.flatMap((row, at) => {
    if (rows[at]?.outcome) return [];
    const { text, receivedAt } = row.message;
    return [{ inboxId: row.id, runId: runIdOf(row), text, receivedAt }];
  });
}

async function* plainStreams(streams: AsyncIterable<RunStream>): AsyncIterable<RunStream> {
  for await (const stream of streams) yield plainStream(stream);
}

/**
 * Throws `MethodError` when the idempotency key was used for another message: two clients that count from one must not
 * lose each other's messages.
 */
function checkSame(known: InboundMessage, request: ChatRequest): void {
  if (known.text === request.text && known.options?.sessionKey === request.sessionKey) return;
  throw new MethodError("INVALID_REQUEST", "this idempotency key was used for another message", {
    details: { code: "IDEMPOTENCY_KEY_REUSED" },
  });
}

/**
 * The active runs; those of one session when `key` is given. A run that has ended is no longer active, even while its
 * reply is still being sent to a channel.
 */
function activeRuns(dispatch: Dispatch, key: SessionKey | undefined): readonly RunFacts[] {
  return dispatch.lanes
    .runs()
    .filter(({ stream }) => !(stream instanceof RunLog && stream.ended))
    .map(({ stream }) => stream.facts)
    .filter((facts) => key === undefined || facts.sessionKey === key);
}

/**
 * The chat that gets the answer too; undefined when the client wants no delivery. Throws `MethodError` when the session
 * belongs to no chat.
 */
function deliverTo(
  request: ChatRequest,
  { storage: { sessions }, settings }: Pick<DispatchPorts, "storage" | "settings">,
): Peer | undefined {
  if (request.deliver !== true) return undefined;
  const { sessionKey: key } = request;
  const peer = chatOf(key, sessions.peek(key), settings().defaultAgent);
  if (peer) return peer;
  throw new MethodError(
    "INVALID_REQUEST",
    "this session belongs to no chat, so nothing can be delivered: leave out deliver",
  );
}

/**
 * Runs a given history without a session; only the run's receipt is kept. Resolves when the run begins: once a slot is
 * free, or at once when the agent has no part in it.
 */
function oneShot(request: OneShotRequest, dispatch: Dispatch, ports: DispatchPorts): Promise<RunStream> {
  const begun = Promise.withResolvers<RunStream>();
  const work = async () => {
    const run = await begin(request, dispatch, ports);
    begun.resolve(run.stream);
    await record(run, ports);
  };
  void (request.isBare ? work() : dispatch.lanes.inSlot(work)).catch(begun.reject);
  return begun.promise;
}

async function begin(request: OneShotRequest, dispatch: Dispatch, ports: DispatchPorts): Promise<Run> {
  const settings = ports.settings();
  const agent = settings.agents.get(request.agentId) ?? settings.agents.get(settings.defaultAgent);
  const { before, results, user } = partsOf(request.messages);
  if (!agent || (!user && results.length === 0)) throw new Error("a one-shot request needs an agent and a turn");
  const id = runId(request.idempotencyKey);
  const key = sessionKey(`openai:${id}`);
  const facts = { runId: id, sessionKey: key, sessionId: id, agentId: agent.id, trigger: ONE_SHOT.trigger };
  const at = ports.clock.now();
  const { client, media, signal } = request;
  const run: Run = startRun(
    {
      facts,
      settings: agent,
      conversation: new MemoryConversation(before),
      turn: { entryId: id, ...(await contentOf(user, media, ports)), at, ...(results.length > 0 && { results }) },
      choice: {
        candidates: await candidatesOf(request.model, agent, ports),
        ...(client.wish && { wish: client.wish }),
      },
      thinking: request.isBare ? "off" : agent.thinking,
      timeoutMs: agent.timeoutMs,
      ...(request.isBare ? bareParts(request) : await agentParts(request, { agent, key, id, at }, ports)),
    },
    {
      ...runDepsOf(ports),
      models: ports.runs.models.of(agent.id),
      log: ports.log.with({ run: id, session: key }),
      approvals: dispatch.approvals.deskFor(
        { facts, principal: OPERATOR },
        prompterFor({ asks: ONE_SHOT.asks }, () => run, ports),
      ),
    },
  );
  if (signal.aborted) run.abort("user");
  signal.addEventListener("abort", () => run.abort("user"), { once: true });
  dispatch.registry.add(run.stream);
  return run;
}

type AgentParts = Pick<RunRequest, "tools" | "toolsOn" | "removed" | "systemPrompt">;

/** The tools and the prompt of a request that the agent has no part in: the client's own. */
function bareParts({ client }: Pick<OneShotRequest, "client">): AgentParts {
  const text = clientPrompt(client) ?? "";
  const none = { tools: [], toolsOn: () => [] };
  return { ...withClientTools(none, client), systemPrompt: async () => ({ text, parts: [] }) };
}

interface OneShotFacts {
  readonly agent: AgentSettings;
  readonly key: SessionKey;
  readonly id: string;
  readonly at: number;
}

/** The tools and the prompt of the agent, with those of the client. */
async function agentParts(
  { client, signal }: Pick<OneShotRequest, "client" | "signal">,
  { agent, key, id, at }: OneShotFacts,
  ports: DispatchPorts,
): Promise<AgentParts> {
  await ports.runs.toolsReady(signal);
  const set = ports.runs.tools(agent, { principal: OPERATOR, sessionKey: key });
  const extra = clientPrompt(client);
  return {
    ...offeredTools(set, client),
    removed: (name, model) => set.removed?.(name, model),
    systemPrompt: (model, tools) =>
      ports.prompts.systemPrompt({
        agent,
        model,
        tools,
        session: { key, entry: { sessionId: id, updatedAt: at } },
        isPrivate: true,
        ...(extra !== undefined && { extra }),
      }),
  };
}

/** The models that are asked, the client's choice first. */
const candidatesOf = (
  model: string | undefined,
  agent: AgentSettings,
  { runs: { models } }: Pick<DispatchPorts, "runs">,
) => candidatesFor({ said: model === undefined ? undefined : parseModelName(model) }, NO_CHOICE, agent, { models });

/** A conversation in which nobody chose a model. */
const NO_CHOICE = { entry: { sessionId: "", updatedAt: 0 } };

/** The messages before the turn, and the turn: results of the client's calls, and the user's text after them. */
function partsOf(messages: readonly ChatMessage[]) {
  const last = messages.at(-1);
  const user = last?.role === "user" ? last : undefined;
  const rest = user ? messages.slice(0, -1) : messages;
  const begin = rest.findLastIndex(({ role }) => role !== "toolResult") + 1;
  return {
    before: rest.slice(0, begin),
    results: rest.slice(begin).filter((message) => message.role === "toolResult"),
    user,
  };
}

/** The user's text and images, with the files: their words, or where they are. */
async function contentOf(user: UserMessage | undefined, media: readonly MediaItem[], ports: DispatchPorts) {
  const content = user?.content ?? [];
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  const { files, missing, images, spoken } = await fetchMedia([rowOf(media)], { ...ports, stopping: NEVER });
  const heard = [...spoken.values()].flat().map(({ line }) => line);
  const said = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const text = [...mediaLines(files, missing), ...said, ...heard].join("\n");
  return { text, images: [...parts.filter((part) => part.type === "image"), ...images] };
}

const NEVER = new AbortController().signal;

/** The files as those of a message of no conversation. */
const rowOf = (media: readonly MediaItem[]) => ({
  id: 0,
  message: {
    id: "",
    eventKey: "",
    from: { channel: channelId("webchat"), account: DEFAULT_ACCOUNT, chat: { kind: "direct" as const, id: "" } },
    sender: { id: "operator" },
    text: "",
    media,
    mentionsBot: true,
    receivedAt: 0,
  },
});

/** Never rejects: the client gets its answer even when the receipt cannot be written. */
async function record(
  run: Run,
  { storage: { journal }, clock, log }: Pick<DispatchPorts, "storage" | "clock" | "log">,
): Promise<void> {
  const { runId: id, sessionKey: key, agentId } = run.stream.facts;
  const { receipt, result } = await runEndOf(run);
  const ended = result.kind === "failed" ? `failed:${result.failure.kind}` : result.kind;
  try {
    await journal.runs.record({ runId: id, sessionKey: key, agentId, at: clock.now(), receipt, result: ended });
  } catch (error) {
    log.error("run not recorded", { run: id, error });
  }
}

/** A conversation that is not stored. */
class MemoryConversation {
  readonly #messages: { entryId: string; message: ChatMessage }[];
  leafId: string | null;

  constructor(messages: readonly ChatMessage[]) {
    this.#messages = messages.map((message, index) => ({ entryId: `given-${index}`, message }));
    this.leafId = this.#messages.at(-1)?.entryId ?? null;
  }

  async window(): Promise<SessionWindow> {
    const estimatedTokens = this.#messages.reduce((sum, row) => sum + estimateInRequest(row.message), 0);
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
