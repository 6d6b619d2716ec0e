import { createHash } from "node:crypto";
import { basename } from "node:path";
import { startRun, type Run } from "../../harness/run.ts";
import type { RunDeps, RunRequest, UserTurn } from "../../harness/request.ts";
import { Stopped, untilStopped } from "../../harness/until-stopped.ts";
import { buildBody, type Body } from "../../prompt/body.ts";
import { sizesOf } from "../../prompt/parts.ts";
import { isMainKey } from "../../sessions/keys.ts";
import { MESSAGE_TOOL } from "../../tools/message-result.ts";
import type { ProfileWish } from "../../types/auth.ts";
import { runId, type RunId, type SessionKey } from "../../types/ids.ts";
import type { InboxRow, SystemEvent } from "../../types/journal.ts";
import type { InboundMessage, Peer } from "../../types/message.ts";
import type { ModelRef, ThinkLevel } from "../../types/model.ts";
import { hasOwnerRights, type Acting } from "../../types/principal.ts";
import type { FileFate, RunFacts } from "../../types/run.ts";
import type { ChatScene } from "../../types/send.ts";
import type { Session } from "../../types/session.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { ApprovalDesk, Tool } from "../../types/tool.ts";
import type { TurnKind } from "../../types/turn-kind.ts";
import type { AskedFor } from "../approvals/approvals.ts";
import { fetchMedia, withSpoken, type FetchedMedia } from "../media/media.ts";
import type { DispatchPorts, Waiting } from "../ports.ts";
import { chatName, principalOf } from "./principal.ts";
import { claimEvents } from "./system-events.ts";

/** A turn that is ready to run: claimed, its text made, its files fetched. */
export interface PreparedTurn {
  readonly facts: RunFacts;
  readonly rows: readonly InboxRow[];
  readonly message: InboundMessage;
  readonly kind: TurnKind;
  readonly agent: AgentSettings;
  readonly turn: UserTurn;
  readonly body: Body;
  readonly files: readonly FileFate[];
  /** System events are claimed for it. */
  readonly hasEvents: boolean;
}

/** The transcript id of a turn: the same at every boot. */
export function turnIdOf(row: InboxRow): string {
  const { channel, account } = row.message.from;
  const name = `${channel}\n${account}\n${row.message.eventKey}`;
  return row.turnId ?? createHash("sha256").update(name).digest("hex").slice(0, 16);
}

/** Web and command-line clients choose the run id: it is their idempotency key. Elsewhere the turn names its run. */
export function runIdOf(row: InboxRow): RunId {
  return row.runId ?? runId(row.message.options?.operator === true ? row.message.id : turnIdOf(row));
}

/** Makes the user's turn out of rows that were claimed. */
export async function prepareTurn(
  waiting: Waiting,
  session: Session,
  agent: AgentSettings,
  ports: DispatchPorts & { stopping: AbortSignal },
): Promise<PreparedTurn | undefined> {
  const [first] = waiting.rows;
  if (!first) return undefined;
  const kind = ports.kinds.of(first.message);
  const facts = factsFor(first, session, kind);
  const turnId = turnIdOf(first);
  const media = await mediaOf(waiting.rows, ports);
  await ports.journal.received.note(
    media.files.map(({ path }) => basename(path)),
    session.key,
  );
  const events = await claimEvents(session, turnId, ports.journal.events);
  const body = bodyFor(waiting, session, agent, { ports, media, events });
  const turn = {
    entryId: turnId,
    text: body.text,
    images: media.images,
    at: first.message.receivedAt,
    parts: sizesOf(body.parts),
    ...(kind.provenance && { provenance: kind.provenance }),
  };
  return {
    facts,
    rows: waiting.rows,
    message: first.message,
    kind,
    agent,
    turn,
    body,
    files: media.fates,
    hasEvents: events.length > 0,
  };
}

/** Files that are still on their way when the turn is stopped are not waited for: its run ends as it begins. */
function mediaOf(rows: readonly InboxRow[], ports: DispatchPorts & { stopping: AbortSignal }): Promise<FetchedMedia> {
  return untilStopped(() => fetchMedia(rows, ports), ports.stopping).catch((error: unknown) => {
    if (error instanceof Stopped) return NO_MEDIA;
    throw error;
  });
}

export function factsFor(
  row: InboxRow,
  session: Pick<Session, "key" | "id" | "agentId">,
  { trigger }: TurnKind,
): RunFacts {
  return {
    runId: runIdOf(row),
    sessionKey: session.key,
    sessionId: session.id,
    agentId: session.agentId,
    trigger,
  };
}

function bodyFor(
  waiting: Waiting,
  session: Session,
  agent: AgentSettings,
  more: { ports: DispatchPorts; media: FetchedMedia; events: readonly SystemEvent[] },
): Body {
  const { ports, media, events } = more;
  return buildBody({
    ...saidIn(waiting, agent, ports),
    ...spokenIn(waiting, media),
    queueCap: Math.max(0, Math.min(ports.settings().queue.cap, waiting.rows.length - (waiting.brief ?? 0))),
    isNewSession: session.isNew,
    abortedLastRun: session.entry.abortedLastRun === true,
    systemEvents: [...eventsFor(session, events, ports), ...newsIn(waiting, ports)],
    media: media.files,
    missing: media.missing,
    hasMessageTool: ports
      .tools(agent, actingOf(waiting.rows, session.key, ports), sceneOf(waiting.rows, ports))
      .some(isMessageTool),
  });
}

/** The messages with what was said in their recordings. */
function spokenIn(waiting: Waiting, media: FetchedMedia) {
  const [head, ...rest] = waiting.rows;
  if (!head) throw new Error("a turn needs a message");
  const text = rest.length === 0 ? (waiting.text ?? head.message.text) : head.message.text;
  return {
    message: withSpoken({ ...head, message: { ...head.message, text } }, media),
    also: rest.map((row) => withSpoken(row, media)),
    rawText: head.message.text,
  };
}

const saidIn = ({ pending }: Waiting, { timezone }: AgentSettings, { clock }: DispatchPorts) => ({
  pendingHistory: pending,
  timezone,
  now: clock.now(),
});

const NO_MEDIA: FetchedMedia = { files: [], missing: [], fates: [], images: [], spoken: new Map() };

/** A message without files as it joins a running turn. News of the gateway wait for a turn of their own. */
export function joiningTurn(waiting: Waiting, row: InboxRow, agent: AgentSettings, ports: DispatchPorts): UserTurn {
  const body = buildBody({
    ...saidIn(waiting, agent, ports),
    ...spokenIn(waiting, NO_MEDIA),
    isNewSession: false,
    abortedLastRun: false,
    systemEvents: [],
    media: [],
    hasMessageTool: false,
  });
  const { receivedAt: at } = row.message;
  return { entryId: turnIdOf(row), text: body.text, images: [], at, parts: sizesOf(body.parts) };
}

const isMessageTool = ({ name }: Tool) => name === MESSAGE_TOOL;

/** For whom a run of the turn asks. */
export function askedFor(
  { facts, rows, message }: PreparedTurn,
  ports: Pick<DispatchPorts, "settings" | "kinds">,
): AskedFor {
  const isOperator = message.options?.operator === true;
  return {
    facts,
    principal: principalOf(rows, ports),
    ...(!isOperator && { chat: chatName(message.from) }),
  };
}

/** What the tools of a turn may do follows from this. */
const actingOf = (rows: readonly InboxRow[], sessionKey: SessionKey, ports: DispatchPorts): Acting => ({
  principal: principalOf(rows, ports),
  sessionKey,
});

/** The chat that a turn answers, if any. */
function sceneOf(rows: readonly InboxRow[], ports: DispatchPorts): ChatScene | undefined {
  const [first] = rows;
  if (!first) return undefined;
  const { options, from, id } = first.message;
  const isOperator = options?.operator === true;
  const peer = isOperator ? options.deliverTo : from;
  return (
    peer && {
      inboxId: first.id,
      peer,
      isOwner: hasOwnerRights(principalOf(rows, ports)),
      ...(!isOperator && id !== "" && { messageId: id }),
    }
  );
}

/** What happened since the last turn, and what goes on outside a transcript whose older part is a summary. */
function eventsFor(session: Session, claimed: readonly SystemEvent[], ports: DispatchPorts) {
  const at = ports.clock.now();
  const isCompacted = (session.entry.compactionCount ?? 0) > 0;
  const live = isCompacted ? (ports.liveState?.(session.key) ?? []) : [];
  return [...greetingEvents(session, ports), ...claimed, ...live.map((text) => ({ at, text }))];
}

/** What the turn was begun for, where its kind says so. */
const newsIn = ({ rows }: Waiting, { kinds }: DispatchPorts) =>
  rows.flatMap(({ message }) => {
    const text = kinds.of(message).news?.(message);
    return text === undefined ? [] : [{ at: message.receivedAt, text }];
  });

/** A new conversation of the operator's own begins with what is connected. */
function greetingEvents(session: Session, ports: DispatchPorts): readonly { at: number; text: string }[] {
  if (!session.isNew || !isMainKey(session.key)) return [];
  const at = ports.clock.now();
  return ports.statusLines().map((text) => ({ at, text }));
}

/** Starts the run of a prepared turn. */
export function beginRun(
  prepared: PreparedTurn,
  session: Session,
  ports: DispatchPorts,
  parts: {
    approvals: ApprovalDesk;
    candidates: readonly ModelRef[];
    askedBefore: ModelRef | undefined;
    log: Waiting["log"];
    behind: NonNullable<RunDeps["behind"]>;
    beforeTool?: NonNullable<RunDeps["beforeTool"]>;
  },
): Run {
  const { facts } = prepared;
  const { candidates, askedBefore, approvals, behind, beforeTool } = parts;
  const request = { ...requestFor(prepared, session, ports, { candidates }), askedBefore };
  const log = ports.log.with({ run: facts.runId, session: facts.sessionKey });
  return startRun(request, { ...ports, log, approvals, behind, ...(beforeTool && { beforeTool }) }, parts.log);
}

/** What a run of a prepared turn is started with. `extra` joins its system prompt. */
export function requestFor(
  prepared: PreparedTurn,
  session: Session,
  ports: DispatchPorts,
  { candidates, extra }: { candidates: readonly ModelRef[]; extra?: string },
): RunRequest {
  const { facts, agent, turn, message, kind } = prepared;
  const tools = ports.tools(agent, actingOf(prepared.rows, session.key, ports), sceneOf(prepared.rows, ports));
  const peer: Peer | undefined = message.options?.operator === true ? undefined : message.from;
  const openEngine = engineFor(prepared, session, candidates, ports);
  const isLight = kind.promptFiles?.(message) === "light";
  const more = { ...(peer && { peer }), ...extraFor(message, extra, ports), ...(isLight && { isLight }) };
  return {
    facts,
    settings: settingsFor(agent, peer, ports),
    conversation: session,
    turn,
    candidates,
    thinking: thinkingFor(prepared, session),
    timeoutMs: message.options?.timeoutMs ?? agent.timeoutMs,
    tools,
    wish: wishOf(session),
    ...(openEngine && { openEngine }),
    ...(peer && { channel: peer.channel }),
    systemPrompt: (model) => ports.systemPrompt({ agent, model, tools, session, ...more }),
  };
}

/** What joins the system prompt: the words for the chat, unless an operator client writes, then those of this turn. */
function extraFor(message: InboundMessage, own: string | undefined, ports: DispatchPorts): { readonly extra?: string } {
  const ofChat = message.options?.operator === true ? undefined : ports.settings().chatPrompt?.(message);
  const words = [ofChat, own].filter((part) => part !== undefined).join("\n\n");
  return words === "" ? {} : { extra: words };
}

function engineFor(
  { facts, agent, turn }: PreparedTurn,
  session: Session,
  candidates: readonly ModelRef[],
  ports: DispatchPorts,
): RunRequest["openEngine"] {
  return ports.engineFor?.({
    session,
    agent,
    candidates,
    turnKey: turn.entryId,
    isHeartbeat: facts.trigger === "heartbeat",
    ...(turn.events && { events: turn.events }),
  });
}

/** A key that the user pinned is the only one; else the one that served this conversation last comes first. */
function wishOf({ entry }: Session): ProfileWish {
  const { authProfileOverride: profile, authProfileOverrideSource: source } = entry;
  if (profile === undefined) return {};
  return source === "user" ? { pinned: profile } : { last: profile };
}

/** A direct chat may be remembered for fewer turns. */
function settingsFor(agent: AgentSettings, peer: Peer | undefined, ports: DispatchPorts): AgentSettings {
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
