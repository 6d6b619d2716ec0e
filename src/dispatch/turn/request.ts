import { chatOf } from "../../sessions/chat-of.ts";
import { startRun, type Run } from "../../harness/run.ts";
import type { RunDeps, RunRequest } from "../../harness/request.ts";
import type { ProfileWish } from "../../types/auth.ts";
import type { InboundMessage, Peer } from "../../types/chat/message.ts";
import { speechLevelOf, type SpeechLevel } from "../../types/media/speech.ts";
import type { ModelInfo, ModelRef, ThinkLevel } from "../../types/run/model.ts";
import type { Session } from "../../types/session.ts";
import type { Failure } from "../../types/run/run.ts";
import { isOwnersAlone } from "../../types/run/principal.ts";
import { untrustedMarkOf } from "../../types/run/untrusted.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { ApprovalDesk, ToolSet } from "../../types/run/tool.ts";
import type { ClientAsk } from "../../types/chat/client-ask.ts";
import { withClientTools } from "../client-tools.ts";
import type { DispatchPorts } from "../ports.ts";
import type { QueuedTurn } from "../queue/lane-task.ts";
import { agentInChat } from "../settings.ts";
import { chatSceneOf } from "./acting.ts";
import { addressed } from "../chats.ts";
import type { PreparedTurn } from "../prepared-turn.ts";

/** Starts the run of a prepared turn. */
export function beginRun(
  prepared: PreparedTurn,
  session: Session,
  ports: DispatchPorts,
  parts: {
    approvals: ApprovalDesk;
    candidates: readonly ModelRef[];
    askedBefore: ModelRef | undefined;
    log: QueuedTurn["log"];
    spentAfterEnd: NonNullable<RunDeps["spentAfterEnd"]>;
    waits: NonNullable<RunDeps["waits"]>;
  },
): Run {
  const { facts } = prepared;
  const { candidates, askedBefore, approvals, spentAfterEnd, waits } = parts;
  const request = requestFor(prepared, session, ports, { candidates, askedBefore });
  const log = ports.log.with({ run: facts.runId, session: facts.sessionKey });
  const models = ports.runs.models.of(facts.agentId);
  return startRun(request, { ...runDepsOf(ports), models, log, approvals, spentAfterEnd, waits }, parts.log);
}

/** The ports of dispatch that a run works with. */
export const runDepsOf = ({ runs, clock, storage }: Pick<DispatchPorts, "runs" | "clock" | "storage">) => ({
  ...runs,
  clock,
  closedPaths: storage.closedPaths,
});

interface TurnChoice {
  readonly candidates: readonly ModelRef[];
  readonly askedBefore?: ModelRef | undefined;
  /** A text that joins the system prompt. */
  readonly extra?: string;
}

type RequestPorts = Pick<DispatchPorts, "chats" | "runs" | "kinds" | "settings" | "prompts">;

/** The request with which a run of a prepared turn is started. */
export function requestFor(
  prepared: PreparedTurn,
  session: Session,
  ports: RequestPorts,
  { candidates, askedBefore, extra }: TurnChoice,
): RunRequest {
  const { facts, agent, turn, message, kind } = prepared;
  const set = ports.runs.tools(agent, prepared.acting, chatSceneOf(prepared.rows, ports));
  const placed = placedIn(prepared, session, ports);
  const peer = placed?.from;
  const how = howFor(prepared, () => engineFor(prepared, session, candidates, ports));
  const onlyFiles = kind.promptFiles?.(message);
  const client = message.options?.client;
  const said = [placed && activationText(placed, session), kind.systemPrompt?.(message), extra];
  const more = {
    ...placeFor(peer, ports),
    ...(placed && speechOf(prepared, session, ports)),
    ...extraFor(placed, said, ports),
    ...(onlyFiles && { onlyFiles }),
    ...(set.sandbox !== undefined && { sandbox: set.sandbox }),
    isPrivate: isPrivate(prepared, session),
  };
  return {
    facts,
    settings: settingsFor(agent, peer, ports),
    conversation: session,
    turn,
    choice: {
      candidates,
      askedBefore,
      keys: keysFor(session),
      ...(client?.wish && { wish: client.wish }),
      ...(set.emptiedBy !== undefined && { unusable: withoutTools(agent, set.emptiedBy) }),
    },
    thinking: thinkingFor(prepared, session),
    timeoutMs: message.options?.timeoutMs ?? agent.timeoutMs,
    ...offeredTools(set, client),
    removed: (name, model) => set.removed?.(name, model),
    untrusted: keepingIn(session),
    ...how,
    ...(peer && { channel: peer.channel }),
    systemPrompt: (model, tools) =>
      ports.prompts.systemPrompt({
        agent: agentInChat(agent, placed, ports.settings()),
        model,
        tools,
        session,
        ...more,
      }),
  };
}

const keepingIn = (session: Session): NonNullable<RunRequest["untrusted"]> => ({
  known: () => untrustedMarkOf(session.entry.untrustedContent),
  keep: (untrustedContent) => session.update({ untrustedContent }, { now: true }),
});

/** The tools of a run that answers a client or a chat. */
export function offeredTools(set: ToolSet, client: ClientAsk | undefined): Pick<RunRequest, "tools" | "toolsOn"> {
  const own = { tools: set.tools, toolsOn: (model: ModelInfo) => set.on(model) };
  return client ? withClientTools(own, client) : own;
}

/** Whether only owners read the answer, now and later in the same session. */
const isPrivate = (
  { acting, message }: Pick<PreparedTurn, "acting" | "message">,
  { entry }: Pick<Session, "entry">,
): boolean => isOwnersAlone(acting) && entry.heardGuests !== true && addressed(message)?.from.chat.kind !== "group";

/** The single call that answers the turn; else the context engine of the models that answer it. */
function howFor(
  { kind, message }: PreparedTurn,
  engine: () => RunRequest["openEngine"],
): Pick<RunRequest, "call" | "openEngine"> {
  const call = kind.call?.(message);
  if (call) return { call };
  const openEngine = engine();
  return openEngine ? { openEngine } : {};
}

/**
 * The failure of a run whose allow list leaves no tool. Such a list is a mistake: the agent would answer that it cannot
 * do anything, at the operator's cost.
 */
const withoutTools = ({ id }: AgentSettings, key: string): Failure => ({
  kind: "blocked",
  message: `the allow list ${key} leaves the agent "${id}" no tool; name a tool that it has, or empty the list`,
  notice: "My configuration leaves me no tool here, so I did not ask a model. My operator finds the key in the log.",
});

/**
 * The message in the chat of its conversation, which the system prompt describes. The chat of a turn that the gateway
 * began is the chat of its people's turns, so that the facts and the provider's cached prompt are the same too.
 * Undefined for a message that an operator wrote, and without a chat.
 */
function placedIn(
  { kind, message }: Pick<PreparedTurn, "kind" | "message">,
  { key, entry }: Pick<Session, "key" | "entry">,
  { settings }: Pick<DispatchPorts, "settings">,
): InboundMessage | undefined {
  if (message.options?.operator !== true) return message;
  if (!kind.actsFor) return undefined;
  const from = chatOf(key, entry, settings().defaultAgent) ?? message.options.deliverTo;
  const writer = entry.origin?.from?.slice(`${from?.channel}:`.length);
  return from && { ...message, from, ...(writer !== undefined && { sender: { id: writer } }) };
}

/** The chat, for the system prompt. */
function placeFor(
  peer: Peer | undefined,
  { chats: { buttons } }: Pick<DispatchPorts, "chats">,
): { readonly peer?: Peer; readonly hasButtons?: boolean } {
  return peer ? { peer, hasButtons: buttons(peer) !== undefined } : {};
}

/** Which answers of the conversation are spoken as well. */
function speechOf(
  { agent: { id }, kind }: Pick<PreparedTurn, "agent" | "kind">,
  { entry }: Pick<Session, "entry">,
  { prompts: { speaker } }: Pick<DispatchPorts, "prompts">,
): { readonly speech?: Exclude<SpeechLevel, "off"> } {
  if (!kind.takesCommands && !kind.actsFor) return {};
  const level = speechLevelOf(entry.ttsAuto) ?? speaker.levelOf(id) ?? "off";
  return level === "off" || speaker.services.length === 0 ? {} : { speech: level };
}

/** Additions to the system prompt: the chat's text, then the texts of this turn. */
function extraFor(
  placed: InboundMessage | undefined,
  own: readonly (string | undefined)[],
  ports: Pick<DispatchPorts, "settings">,
): { readonly extra?: string } {
  const ofChat = placed && ports.settings().chatPrompt?.(placed).text;
  const text = [ofChat, ...own].filter((part) => part !== undefined).join("\n\n");
  return text === "" ? {} : { extra: text };
}

/** The text about a group's activation, from which the agent knows why a message that does not name it is there. */
function activationText({ from }: InboundMessage, { entry }: Pick<Session, "entry">): string | undefined {
  if (from.chat.kind !== "group") return undefined;
  if (entry.groupActivation === "mention") return "In this group you get the messages that are said to you.";
  if (entry.groupActivation !== "always") return undefined;
  return "In this group you get every message, also what people say to each other. Answer when you are asked or can really help.";
}

function engineFor(
  { facts, agent, turn }: PreparedTurn,
  session: Session,
  candidates: readonly ModelRef[],
  ports: Pick<DispatchPorts, "runs">,
): RunRequest["openEngine"] {
  return ports.runs.engineFor({
    session,
    agent,
    candidates,
    turnKey: turn.entryId,
    isHeartbeat: facts.trigger === "heartbeat",
  });
}

/**
 * The keys that the run may use. A key that the user pinned is the only one; else the key that served this conversation
 * last comes first.
 */
function keysFor({ entry }: Session): ProfileWish {
  const { authProfileOverride: profile, authProfileOverrideSource: source } = entry;
  if (profile === undefined) return {};
  return source === "user" ? { pinned: profile } : { last: profile };
}

/** A direct chat may have its own limit of remembered turns. */
function settingsFor(
  agent: AgentSettings,
  peer: Peer | undefined,
  ports: Pick<DispatchPorts, "settings">,
): AgentSettings {
  if (peer?.chat.kind !== "direct") return agent;
  const { dmHistoryLimit } = ports.settings().chat(peer);
  return dmHistoryLimit === undefined ? agent : { ...agent, dmHistoryLimit };
}

function thinkingFor(prepared: PreparedTurn, session: Session): ThinkLevel {
  return (
    prepared.body.thinking ??
    prepared.message.options?.thinking ??
    session.entry.thinkingLevel ??
    prepared.agent.thinking
  );
}
