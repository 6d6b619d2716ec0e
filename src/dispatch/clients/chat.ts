import { compactedSizes } from "../../harness/compaction/compact.ts";
import { RunLog } from "../../harness/log/log.ts";
import { withoutTags } from "../../harness/run/unanswered.ts";
import { parseReply } from "../../reply/plain-reply.ts";
import type { ChatPort, ChatRequest, InputReceipt } from "../../types/chat/chat.ts";
import type { RunStream } from "../../types/run/events.ts";
import { channelId, DEFAULT_ACCOUNT, runId, type SessionKey } from "../../types/ids.ts";
import type { InboundMessage, Peer } from "../../types/chat/message.ts";
import { MethodError } from "../../types/method.ts";
import type { RunFacts } from "../../types/run/run.ts";
import { webEventKey, type WebMessage } from "../../types/chat/web-clients.ts";
import { compactedText } from "../maintenance/compactions.ts";
import { chatOf } from "../../sessions/chat-of.ts";
import type { Dispatch } from "../dispatch.ts";
import { oneShot } from "./one-shot.ts";
import { plainStream } from "./plain-stream.ts";
import type { DispatchPorts } from "../ports.ts";
import { turnIdOf } from "../turn-facts.ts";

/** Gives a client's message to its channel. Resolves when the message is durable. */
export type Submit = (message: WebMessage) => Promise<void>;

/**
 * The port for web, RPC, HTTP and command-line clients. Their messages pass the same pipeline as those of a channel.
 */
export function createChatPort(dispatch: Dispatch, ports: DispatchPorts, submit: Submit): ChatPort {
  return {
    send: (request) => send(request, dispatch, { ports, submit }),
    oneShot: async (request) => plainStream(await oneShot(request, dispatch, ports)),
    abort: (key, only) => dispatch.stop(key, only === undefined ? {} : { only }),
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
    runOf: (turnId) => dispatch.registry.runOf(turnId),
    inputs: (runIds) => inputsOf(runIds, ports.storage.journal.inbox),
    compactions: (signal) => dispatch.compactions.watch(signal),
    runs: (signal) => plainStreams(dispatch.registry.watch(signal)),
    plain: (text, message) => parseReply(withoutTags(text, message)).text,
    approvals: {
      list: () => dispatch.approvals.list(),
      resolve: (id, decision) => dispatch.approvals.resolve(id, decision) !== undefined,
      offered: (id) => dispatch.approvals.offered(id),
      endOf: (id) => dispatch.approvals.endOf(id),
    },
  };
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
  throw new MethodError("INVALID_REQUEST", `session ${key} belongs to no chat, so nothing can be delivered`);
}
