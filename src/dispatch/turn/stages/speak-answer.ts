import { parseReply } from "../../../reply/plain-reply.ts";
import { spokenText } from "../../../providers/speech/spoken.ts";
import type { InboxRow } from "../../../types/journal.ts";
import { originOf } from "../../../types/run/model-meter.ts";
import { type Speaker, speechLevelOf, type Speech, type SpeechLevel } from "../../../types/media/speech.ts";
import { setBy } from "../../directives/said.ts";
import { mediaBlock } from "../../media/attach.ts";
import { typingWhile } from "../../notices/typing.ts";
import { addressed } from "../../chats.ts";
import { endOf } from "../../answer/run-end.ts";
import type { TurnPorts } from "../ports.ts";
import type { Turn } from "../turn.ts";

/**
 * Sends the answer as a voice message too, where that is wished. Planned before the outcome, so that a restart does not say it twice; an
 * answer without it is whole, too. Never rejects.
 */
export async function speakAnswer(turn: Turn, ports: TurnPorts): Promise<void> {
  const { speaker, log } = ports;
  const { rows, agent, facts } = turn.get("prepared");
  const [row] = rows;
  const outcome = turn.get("outcome");
  if (!speaker || !row || outcome === "unfinished" || outcome.kind !== "replied") return;
  const text = await wishedText(turn, speaker, ports);
  if (text === "") return;
  try {
    const speak = () => speaker.speak({ text, signal: turn.slot.stopping, origin: originOf(facts) });
    await send(row, await typingWhile(row, agent, ports, speak), turn, ports);
  } catch (error) {
    log.warn("answer not spoken", { inbox: row.id, error });
  }
}

/** What is to be spoken of the answer of a person's chat; empty when that is nothing. */
async function wishedText(turn: Turn, speaker: Speaker, ports: TurnPorts): Promise<string> {
  const { rows, kind, agent, message } = turn.get("prepared");
  const level = levelOf(turn, ports) ?? speaker.levelOf(agent.id);
  if (level === "off" || !kind.takesCommands || !addressed(message)) return "";
  const { texts } = await endOf(turn.get("active").run);
  const parsed = parseReply(texts.join("\n\n"));
  const isThere = parsed.silent || parsed.audioAsVoice;
  const isTagged = parsed.spoken !== undefined;
  return !isThere && isWished(level, isTagged, rows) ? spokenText(parsed.spoken || parsed.text) : "";
}

/** What the messages, else the session, say. */
function levelOf(turn: Turn, ports: TurnPorts): SpeechLevel | undefined {
  const messages = turn.get("prepared").rows.map(({ message }) => message);
  return setBy(messages, turn.key, ports).tts ?? speechLevelOf(ports.sessions.peek(turn.key)?.ttsAuto);
}

function isWished(level: SpeechLevel, isTagged: boolean, rows: readonly InboxRow[]): boolean {
  if (level === "always" || isTagged) return true;
  const isSpoken = ({ message }: InboxRow) => message.media.some(({ kind }) => kind === "voice" || kind === "audio");
  return level === "inbound" && rows.some(isSpoken);
}

async function send(row: InboxRow, { bytes, mime, name }: Speech, turn: Turn, ports: TurnPorts): Promise<void> {
  const stored = await ports.media.put(bytes, { mime, name });
  const to = row.message.options?.deliverTo ?? row.message.from;
  const blocks = [mediaBlock(stored, { name, asVoice: true })];
  const answered = { inboxId: row.id, answers: row.message.eventKey };
  await ports.outbox.deliver({ replyKey: `in:${row.id}:voice`, ...answered, to, blocks }, { session: turn.key });
}
