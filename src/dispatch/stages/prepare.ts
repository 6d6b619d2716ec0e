import { basename } from "node:path";
import { Stopped, untilStopped } from "../../harness/run/until-stopped.ts";
import { partSizes } from "../../prompt/parts.ts";
import type { InboxRow } from "../../types/journal.ts";
import { callOriginOf } from "../../types/run/model-meter.ts";
import type { Session } from "../../types/session.ts";
import type { AgentSettings } from "../../types/settings.ts";
import { fetchMedia, NO_MEDIA, type FetchedMedia, type MediaPorts } from "../media/media.ts";
import type { DispatchPorts } from "../ports.ts";
import type { QueuedTurn } from "../queue/lane-task.ts";
import { notifyPrepared } from "../turn/message-hooks.ts";
import { actingOf } from "../turn/acting.ts";
import { bodyFor, type BodyPorts, turnSignals } from "../turn/body.ts";
import { takeResults } from "../client-tools.ts";
import { startTyping } from "../notices/typing.ts";
import { factsFor, turnIdOf } from "../turn-facts.ts";
import type { TurnPorts } from "../turn/ports.ts";
import type { PreparedTurn } from "../prepared-turn.ts";
import type { StageEnd, Turn } from "../turn/turn.ts";
import { claimEvents } from "../turn/system-events.ts";
import { bareResetIn } from "../../prompt/stages/bare-reset.ts";
import type { DailyNote } from "../../prompt/startup-notes.ts";
import { isOwnersAlone, type Acting } from "../../types/run/principal.ts";

/** Starts the typing signal, since fetching files may take a minute, and then makes the user's turn. */
export async function prepare(turn: Turn, ports: TurnPorts): Promise<StageEnd> {
  const agent = turn.get("agent");
  const typing = startTyping(turn.queued.rows, agent, ports);
  turn.atEnd(() => typing.stop());
  const { stopping } = turn.slot;
  const prepared = await prepareTurn(turn.queued, { session: turn.get("session"), agent, stopping }, ports);
  turn.set({ typing, prepared });
  return "next";
}

type PreparePorts = BodyPorts & Omit<MediaPorts, "stopping"> & Pick<DispatchPorts, "prompts" | "runs" | "storage">;

/** Makes the user's turn from claimed rows. */
async function prepareTurn(
  queued: QueuedTurn,
  { session, agent, stopping }: { session: Session; agent: AgentSettings; stopping: AbortSignal },
  ports: PreparePorts,
): Promise<PreparedTurn> {
  const [first] = queued.rows;
  if (!first) throw new Error("a turn needs a message");
  const kind = ports.kinds.of(first.message);
  const turnId = turnIdOf(first);
  const facts = factsFor(first, session, kind);
  const media = await mediaOf(queued.rows, stopping, {
    ...ports,
    prompts: {
      ...ports.prompts,
      transcribe: async (recording) => ports.prompts.transcribe({ ...recording, origin: callOriginOf(facts) }),
    },
  });
  await ports.storage.journal.received.note(
    media.files.map(({ path }) => basename(path)),
    session.key,
  );
  const { results, told } = await takeResults(first.message.options?.client ?? {}, session);
  const isSaid = first.message.text !== "" || media.files.length > 0 || told !== "";
  const isOnlyResults = results.length > 0 && !isSaid;
  // A turn that is only results has no text in which the model could read the events.
  const events = isOnlyResults ? [] : await claimEvents(session, turnId, ports.storage.journal.events);
  const acting = actingOf(queued.rows, session, ports);
  const notes = await dailyNotesFor(queued, { session, agent, acting }, ports);
  const body = bodyFor(queued, session, agent, { ports, media, events, acting, ...notes });
  notifyPrepared({ rows: queued.rows, key: session.key, text: body.text, spoken: media.spoken }, ports);
  const turn = {
    entryId: turnId,
    text: isOnlyResults ? "" : [told, body.text].filter((part) => part !== "").join("\n\n"),
    images: media.images,
    ...(media.sent && { sent: media.sent }),
    ...(results.length > 0 && { results }),
    at: first.message.receivedAt,
    parts: partSizes(body.parts),
    ...turnSignals(queued.rows, ports),
  };
  return {
    facts: { ...facts, principal: acting.principal },
    rows: queued.rows,
    message: first.message,
    kind,
    agent,
    acting,
    turn,
    body,
    files: media.fates,
    hasEvents: events.length > 0,
    ...(session.isNew && { isFirst: true }),
  };
}

/** The files of a turn. The wait for them ends when the turn is stopped: its run ends as soon as it begins. */
function mediaOf(rows: readonly InboxRow[], stopping: AbortSignal, ports: PreparePorts): Promise<FetchedMedia> {
  return untilStopped(() => fetchMedia(rows, { ...ports, stopping }), stopping).catch((error: unknown) => {
    if (error instanceof Stopped) return NO_MEDIA;
    throw error;
  });
}

interface Begun {
  readonly session: Pick<Session, "isNew" | "entry">;
  readonly agent: AgentSettings;
  readonly acting: Acting;
}

/** The notes with which an owner's private conversation begins after a bare `/new` or `/reset`. */
async function dailyNotesFor(
  { rows, text }: QueuedTurn,
  { session, agent, acting }: Begun,
  { prompts: { dailyNotes } }: Pick<DispatchPorts, "prompts">,
): Promise<{ readonly dailyNotes?: readonly DailyNote[] }> {
  const [first, ...also] = rows.map(({ message }) => message);
  const { startup } = agent.prompt;
  if (!first || !startup) return {};
  if (!isOwnersAlone(acting) || session.entry.heardGuests === true) return {};
  const begun = { rawText: first.text, also, isNewSession: session.isNew };
  const command = bareResetIn(begun, (text ?? first.text).trim());
  return command && startup.applyOn.includes(command) ? { dailyNotes: await dailyNotes(agent) } : {};
}
