import { randomUUID } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { alignHistory } from "../../sessions/shown/given-history.ts";
import type { ClientAsk, GivenHistory } from "../../types/chat/client-ask.ts";
import { defined } from "../../utils/defined.ts";
import { isSideTask } from "./side-tasks.ts";
import { runId, type AgentId } from "../../types/ids.ts";
import type { RunStream } from "../../types/run/events.ts";
import { type ChatMessage, modelName, parseModelName } from "../../types/run/model.ts";
import { background } from "../../utils/background.ts";
import { findRun } from "../events/runs.ts";
import { storeAttachments } from "../methods/attachments.ts";
import type { OpenAiOptions, ServerPorts } from "../options.ts";
import { headerOf, clientPlaceOf, type ClientPlace } from "./conversation.ts";
import { badRequest, type ApiError } from "./errors.ts";
import { namedModel } from "./models.ts";
import { isApiError } from "./request.ts";
import { saidConversation, type AskedAnswer, type SaidConversation } from "./said.ts";

export type StartPorts = Pick<
  ServerPorts,
  "chat" | "sessions" | "media" | "keys" | "catalog" | "embed" | "clock" | "log"
>;

/** A request that can be answered: by which agent and model, and in which conversation. */
export interface AnswerOrder {
  readonly agent: AgentId;
  readonly ask: AskedAnswer["ask"];
  readonly conversation: SaidConversation;
  /** The conversation that the request continues; the request belongs to none when unset. */
  readonly place?: ClientPlace;
  /** The model that is asked before the agent's own. */
  readonly model?: string;
  /** A task of the client's own, such as a title: the model answers without the agent. */
  readonly isSideTask?: true;
}

/** Reads the headers and messages of a request. Rejects with `MethodError` for a name that cannot be a session's. */
export async function orderOf(
  request: Pick<FastifyRequest, "headers">,
  asked: AskedAnswer,
  { conversationHeaders, utilityModel }: OpenAiOptions,
  ports: StartPorts,
): Promise<AnswerOrder | ApiError> {
  const header = headerOf(request, "x-openclaw-agent-id");
  const named = namedModel(asked.model, header, ports.catalog);
  if (isApiError(named)) return named;
  const conversation = saidConversation(asked.said, ports.clock.now());
  const model = await modelIn(request, ports);
  if (isApiError(conversation)) return conversation;
  if (typeof model === "object") return model;
  const order = { agent: named.agent, ask: asked.ask, conversation };
  if (named.isUtility || isSideTask(asked.said))
    return { ...order, ...defined({ model: model ?? utilityModel }), isSideTask: true };
  const isNamed = header !== undefined || asked.model !== "openclaw";
  const place = clientPlaceOf(request, { agent: named.agent, isNamed, user: asked.user }, conversationHeaders, ports);
  if (place && isApiError(place)) return place;
  const placed = place ? await placedIn(place, conversation, ports) : {};
  const orphan = placed.place || asked.previous !== undefined ? undefined : orphanResult(conversation);
  return orphan ?? { ...order, ...placed, ...defined({ model }) };
}

/** The conversation with the history that its turn compares; none when `user` turns out to name an account. */
async function placedIn(
  place: ClientPlace,
  conversation: SaidConversation,
  ports: StartPorts,
): Promise<Pick<AnswerOrder, "place">> {
  const history = await historyFor(place, conversation, ports);
  return history === "other" ? {} : { place: { ...place, ...history } };
}

/** The error for a result whose call is not in the request, which has no other conversation. */
function orphanResult({ before, results }: SaidConversation): ApiError | undefined {
  const made = new Set(
    before.flatMap((message) =>
      message.role === "assistant"
        ? message.content.flatMap((part) => (part.type === "toolCall" ? [part.id] : []))
        : [],
    ),
  );
  const orphan = results.find(({ toolCallId }) => !made.has(toolCallId));
  return orphan && badRequest(`no call with the id ${orphan.toolCallId} is in the messages`, "messages");
}

/** The most entries at the end of a conversation that are compared with a request's history. */
const MOST_COMPARED = 200;

/**
 * The history that the turn has to compare with the conversation: none when the conversation ends as the request has it, as
 * it does nearly always. `other`: `user` names an account, because the request is about another conversation of that user.
 */
async function historyFor(
  { key, isAll, isUsers }: ClientPlace,
  { before }: SaidConversation,
  { sessions, chat }: Pick<StartPorts, "sessions" | "chat">,
): Promise<{ readonly history?: GivenHistory } | "other"> {
  const history = { messages: before.map(withoutImages), ...(isAll && { isAll }) };
  const entry = sessions.peek(key);
  const { entries } = entry ? await sessions.history(key, MOST_COMPARED) : { entries: [] };
  const { missing, left, isKnown } = alignHistory(before, entries);
  const isFitting = missing.length === 0 && (!isAll || left === undefined);
  if (isFitting && chat.active(key).length === 0) return {};
  if (before.length === 0) return isAll ? { history } : {};
  return isUsers && !isKnown && entries.length > 0 ? "other" : { history };
}

/** The message with a note in the place of each image: the journal keeps the history of a request as text. */
function withoutImages(message: ChatMessage): ChatMessage {
  if (message.role === "assistant" || typeof message.content === "string") return message;
  const content = message.content.map((part) =>
    part.type === "image" ? { type: "text" as const, text: "[image]" } : part,
  );
  return { ...message, content };
}

/** The model that `x-openclaw-model` names. */
async function modelIn(
  request: Pick<FastifyRequest, "headers">,
  { catalog }: Pick<StartPorts, "catalog">,
): Promise<string | undefined | ApiError> {
  const name = headerOf(request, "x-openclaw-model");
  if (name === undefined) return undefined;
  const ref = parseModelName(name);
  const models = await catalog.models();
  const isThere = ref && models.some((one) => one.provider === ref.provider && one.id === ref.id);
  if (isThere) return modelName(ref);
  return { ...badRequest(`There is no model ${name} in the config.`, "x-openclaw-model"), code: "model_not_found" };
}

/** Begins the run that answers a request. The run is aborted with the signal. Undefined when the signal aborts before it begins. */
export async function startAnswer(
  order: AnswerOrder,
  ports: StartPorts,
  signal: AbortSignal,
): Promise<RunStream | undefined> {
  const { agent, ask, conversation, place, model, isSideTask } = order;
  if (place) return startInSession({ ...order, place }, ports, signal);
  const { system } = conversation;
  return ports.chat.oneShot({
    agentId: agent,
    ...(model !== undefined && { model }),
    messages: messagesOf(conversation, ports.clock.now()),
    media: await storeAttachments(conversation.files, ports.media),
    client: { ...ask, ...(system !== undefined && { system }) },
    ...(isSideTask && { isBare: true }),
    idempotencyKey: `openai-${randomUUID()}`,
    signal,
  });
}

function messagesOf(
  { before, results, text, images, files }: SaidConversation,
  timestamp: number,
): readonly ChatMessage[] {
  const isSaid = text !== "" || images.length > 0 || files.length > 0;
  if (!isSaid && results.length > 0) return [...before, ...results];
  const content = images.length === 0 ? text : [{ type: "text" as const, text }, ...images];
  return [...before, ...results, { role: "user", content, timestamp }];
}

async function startInSession(
  { ask, conversation, place, model }: AnswerOrder & { readonly place: ClientPlace },
  ports: StartPorts,
  signal: AbortSignal,
): Promise<RunStream | undefined> {
  const { images, files, results, system, text } = conversation;
  const pictures = images.map(({ data, mimeType }) => ({ type: "image", mimeType, content: data }));
  const media = await storeAttachments([...pictures, ...files], ports.media);
  const client: ClientAsk = {
    ...ask,
    ...(system !== undefined && { system }),
    ...(results.length > 0 && { results }),
    ...(place.history && { history: place.history }),
  };
  const id = runId(`openai-${randomUUID()}`);
  const { key: sessionKey } = place;
  // The client has disconnected. If the abort fails, nobody waits for the result, and the run ends at its own time limit.
  const abort = () => background("abort after a client left", ports.chat.abort(sessionKey, id));
  signal.addEventListener("abort", abort, { once: true });
  const chosen = model === undefined ? {} : { model };
  const sent = await ports.chat.send({ sessionKey, text, media, client, idempotencyKey: id, ...chosen });
  // The client may have left while its images were stored, before there was a run.
  if (signal.aborted) abort();
  const stream = await findRun(ports.chat, sent.runId, signal);
  // Work after the answer, such as a compaction, continues when the client disconnects.
  if (stream) {
    background(
      "release of a client's abort",
      stream.done.then(() => signal.removeEventListener("abort", abort)),
    );
  }
  return stream;
}
