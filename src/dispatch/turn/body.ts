import { buildBody, type Body } from "../../prompt/body.ts";
import { partSizes } from "../../prompt/parts.ts";
import type { DailyNote } from "../../prompt/startup-notes.ts";
import { isMainKey } from "../../sessions/keys.ts";
import { MESSAGE_TOOL } from "../../tools/message/message-result.ts";
import type { ChatScene } from "../../types/chat/send.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { UserTurn } from "../../harness/request.ts";
import type { InboxRow, SystemEvent } from "../../types/journal.ts";
import type { Session } from "../../types/session.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { Acting } from "../../types/run/principal.ts";
import type { Tool } from "../../types/run/tool.ts";
import { saidIn } from "../directives/said.ts";
import { queueSettings } from "../queue/queue-settings.ts";
import { NO_MEDIA, withSpoken, type FetchedMedia } from "../media/media.ts";
import type { DispatchPorts } from "../ports.ts";
import type { QueuedTurn } from "../queue/lane-task.ts";
import { chatSceneOf } from "./acting.ts";
import { turnIdOf } from "../turn-facts.ts";

export type BodyPorts = Pick<DispatchPorts, "clock" | "kinds" | "prompts" | "settings" | "runs">;

/** The user's text of a turn, made by the eight body stages. */
export function bodyFor(
  queued: QueuedTurn,
  session: Session,
  agent: AgentSettings,
  more: {
    ports: BodyPorts;
    media: FetchedMedia;
    events: readonly SystemEvent[];
    acting: Acting;
    dailyNotes?: readonly DailyNote[];
  },
): Body {
  const { ports, media, events, acting, dailyNotes } = more;
  const { think, ...spoken } = spokenIn(queued, session.key, { media, ports });
  const body = buildBody({
    ...aroundOf(queued, agent, ports),
    ...spoken,
    ...(queued.wasIdle !== true && { queueCap: mostWhole(queued, session, ports) }),
    isNewSession: session.isNew,
    ...(dailyNotes && { dailyNotes }),
    abortedLastRun: session.entry.abortedLastRun === true,
    systemEvents: [...eventsFor(session, events, ports), ...newsIn(queued, ports)],
    media: media.files,
    missing: media.missing,
    hasMessageTool: () => hasMessageTool(chatSceneOf(queued.rows, ports), agent, { ports, acting }),
  });
  return think ? { ...body, thinking: think } : body;
}

/** How many of the newest messages of a turn the model sees whole; it sees a line of each older message. */
function mostWhole({ rows, brief = 0 }: QueuedTurn, session: Session, ports: Pick<BodyPorts, "settings">): number {
  const [first] = rows;
  const settings = ports.settings();
  const { cap } = first ? queueSettings(first.message.from, session.entry, settings) : settings.queue;
  return Math.max(0, Math.min(cap, rows.length - brief));
}

/**
 * The messages without their directives, with the words of their recordings. `think`: the last level that one of the
 * messages names.
 */
function spokenIn(
  queued: QueuedTurn,
  key: SessionKey,
  { media, ports }: { readonly media: FetchedMedia; readonly ports: Pick<BodyPorts, "kinds" | "settings"> },
) {
  const { rows } = queued;
  const said = rows.map(({ message }) => saidIn(message, key, ports, rows.length === 1 ? queued.text : undefined));
  const [head, ...also] = rows.map((row, at) => {
    const text = said[at]?.text ?? row.message.text;
    return withSpoken({ ...row, message: { ...row.message, text } }, media);
  });
  if (!head) throw new Error("a turn needs a message");
  const think = said.findLast(({ values }) => values.think)?.values.think;
  return { message: head, also, rawText: rows[0]?.message.text ?? "", ...(think && { think }) };
}

const aroundOf = ({ pending }: QueuedTurn, { timezone }: AgentSettings, { clock }: Pick<BodyPorts, "clock">) => ({
  pendingHistory: pending,
  timezone,
  now: clock.now(),
});

/** The text of a message without files that joins a running turn. System events wait for the next turn. */
export function joiningTurn(
  queued: QueuedTurn,
  row: InboxRow,
  agent: AgentSettings,
  { key, ports }: { readonly key: SessionKey; readonly ports: Pick<BodyPorts, "clock" | "kinds" | "settings"> },
): UserTurn {
  const { think: _ofATurnOfItsOwn, ...spoken } = spokenIn(queued, key, { media: NO_MEDIA, ports });
  const body = buildBody({
    ...aroundOf(queued, agent, ports),
    ...spoken,
    isNewSession: false,
    abortedLastRun: false,
    systemEvents: [],
    media: [],
    hasMessageTool: () => false,
  });
  const { receivedAt: at } = row.message;
  const note = ports.kinds.of(row.message).note?.(row.message);
  return {
    entryId: turnIdOf(row),
    text: body.text,
    images: [],
    at,
    parts: partSizes(body.parts),
    ...turnSignals([row], ports),
    ...(note && { note }),
  };
}

/** The provenance of a turn, and the events that its messages were made from. */
export function turnSignals(
  rows: readonly InboxRow[],
  { kinds }: Pick<BodyPorts, "kinds">,
): Pick<UserTurn, "events" | "provenance"> {
  const [first] = rows;
  const { provenance, source } = first ? kinds.of(first.message) : {};
  const events = rows.flatMap(({ message }) => kinds.of(message).events?.(message) ?? []);
  return {
    ...(first && provenance && { provenance: { ...provenance, ...source?.(first.message) } }),
    ...(events.length > 0 && { events }),
  };
}

/** Whether files can be sent to the chat of a turn. */
const hasMessageTool = (
  scene: ChatScene | undefined,
  agent: AgentSettings,
  { ports, acting }: { readonly ports: Pick<BodyPorts, "runs">; readonly acting: Acting },
): boolean =>
  scene?.peer !== undefined && ports.runs.tools(agent, acting, scene, MESSAGE_TOOL).tools.some(isMessageTool);

const isMessageTool = ({ name }: Tool) => name === MESSAGE_TOOL;

/** Events since the last turn, and live state that a summary cannot contain. */
function eventsFor(session: Session, claimed: readonly SystemEvent[], ports: BodyPorts) {
  const at = ports.clock.now();
  const isCompacted = (session.entry.compactionCount ?? 0) > 0;
  const live = isCompacted ? ports.prompts.liveState(session.key) : [];
  return [...greetingEvents(session, ports), ...claimed, ...live.map((text) => ({ at, text }))];
}

/** The reason for the turn, if its kind has one. */
const newsIn = ({ rows }: QueuedTurn, { kinds }: Pick<BodyPorts, "kinds">) =>
  rows.flatMap(({ message }) => {
    const text = kinds.of(message).news?.(message);
    return text === undefined ? [] : [{ at: message.receivedAt, text }];
  });

/** A new conversation of the operator begins with the state of the channels. */
function greetingEvents(session: Session, ports: BodyPorts): readonly { at: number; text: string }[] {
  if (!session.isNew || !isMainKey(session.key)) return [];
  const at = ports.clock.now();
  return ports.prompts.statusLines().map((text) => ({ at, text }));
}
