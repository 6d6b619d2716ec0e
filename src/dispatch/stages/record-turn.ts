import { createHash } from "node:crypto";
import type { TurnPorts } from "../turn/ports.ts";
import { setBy } from "../directives/said.ts";
import { usageLevelOf, type UsageLevel } from "../../types/run/usage-level.ts";
import { addressed } from "../chats.ts";
import { runEndOf } from "../answer/run-end.ts";
import type { StageEnd, Turn } from "../turn/turn.ts";
import { modelName } from "../../types/run/model.ts";
import type { Receipt, RefusedAttachment } from "../../types/run/run.ts";
import type { Outcome, RunRecord, InboxRow } from "../../types/journal.ts";
import type { Session, SessionPatch } from "../../types/session.ts";
import type { DispatchPorts } from "../ports.ts";
import type { RunEnd } from "../../harness/log/run-end.ts";
import { removeEvents } from "../turn/system-events.ts";
import type { PreparedTurn } from "../prepared-turn.ts";
import { endSigns } from "./conclude.ts";
import { retryWhileDiskFull } from "../../store/retry-while-disk-full.ts";
import { parseDirectives } from "../../reply/directives.ts";
import { NOTICE_TYPE } from "../../sessions/transcript/history.ts";
import type { RunId } from "../../types/ids.ts";
import type { AgentSettings } from "../../types/settings.ts";
import { attach, mediaBlock } from "../media/attach.ts";
import { noticeFor } from "../notices/chat-texts.ts";
import type { InboundMessage, Sender } from "../../types/chat/message.ts";
import { parseReply } from "../../reply/plain-reply.ts";
import { spokenText } from "../../providers/speech/spoken.ts";
import { callOriginOf } from "../../types/run/model-meter.ts";
import { speechLevelOf, type Speaker, type Speech, type SpeechLevel } from "../../types/media/speech.ts";
import { typingWhile } from "../notices/typing.ts";

/** Records the run, its cost, and the outcome of its messages. A turn without an outcome continues later. */
export async function recordTurn(turn: Turn, ports: TurnPorts): Promise<StageEnd> {
  const { run } = turn.get("active");
  await speakAnswer(turn, ports);
  await sayUsage(turn, ports);
  const isOver = await record(turn, ports);
  await run.settle();
  return isOver ? "next" : "over";
}

/**
 * Sends the line about the usage of an answer. The line is planned before the outcome, so that a restart neither
 * forgets nor repeats it. An answer without the line is whole, too.
 */
async function sayUsage(turn: Turn, ports: TurnPorts): Promise<void> {
  const { rows, kind } = turn.get("prepared");
  const [row] = rows;
  const outcome = turn.get("outcome");
  const isAnswered = outcome !== "unfinished" && outcome.kind === "replied";
  if (!row || !isAnswered || !kind.takesCommands || !addressed(row.message)) return;
  const { usage } = setBy(
    rows.map(({ message }) => message),
    turn.key,
    ports,
  );
  const level = usage ?? usageLevelOf(ports.storage.sessions.peek(turn.key)?.responseUsage) ?? "off";
  const { receipt } = await runEndOf(turn.get("active").run);
  const text = usageLine(receipt, level);
  if (text === undefined || receipt.calls === 0) return;
  try {
    await ports.shared.replies.notices.answer(row, { text, because: "usage" });
  } catch (error) {
    ports.log.warn("usage of an answer not sent", { inbox: row.id, error });
  }
}

/** False when the next start will examine the turn again. */
async function record(turn: Turn, ports: TurnPorts): Promise<boolean> {
  const prepared = turn.get("prepared");
  const outcome = turn.get("outcome");
  const end = await runEndOf(turn.get("active").run);
  try {
    await recordRun(prepared, turn.get("session"), { ...end, outcome, notAttached: turn.get("notAttached") }, ports);
    return outcome !== "unfinished";
  } catch (error) {
    // The answer is planned. Without an outcome the next start examines the turn again, but does not run it twice.
    ports.log.error("run not recorded", { run: prepared.facts.runId, error });
    return false;
  }
}

/** The line about an answer's cost for a chat with this level. Undefined when there is no line. Pure. */
function usageLine({ usage, model, durationMs }: Receipt, level: UsageLevel): string | undefined {
  if (level === "off") return undefined;
  const { input, output, cacheRead, cacheWrite, cost } = usage;
  const count = (tokens: number) => tokens.toLocaleString("en");
  const tokens = `Usage: ${count(input + cacheRead + cacheWrite)} tokens in, ${count(output)} out`;
  if (level === "tokens") return tokens;
  const cached = cacheRead > 0 ? ` (${count(cacheRead)} of them cached)` : "";
  return `${tokens}${cached}, $${cost.total.toFixed(4)}, ${modelName(model)}, ${(durationMs / 1000).toFixed(1)} s`;
}

type RecordPorts = Pick<DispatchPorts, "clock" | "log" | "storage" | "disk" | "chats"> & Pick<TurnPorts, "shared">;

/** The end of a run, and the outcome of its messages; unfinished messages continue later. */
interface TurnEnd extends RunEnd {
  readonly outcome: Outcome | "unfinished";
  /** Files that were not sent with an answer to a chat. */
  readonly notAttached: readonly RefusedAttachment[];
}

/**
 * Records a run and its cost in its session's row and in the journal, with the outcome of its messages. The record
 * outlives the process, but may not be on the disk yet. Rejects when the record cannot be written.
 */
async function recordRun(prepared: PreparedTurn, session: Session, end: TurnEnd, ports: RecordPorts): Promise<void> {
  const { clock } = ports;
  const { message, kind, files, facts, agent } = prepared;
  const { result } = end;
  const notAttached = new Map(end.notAttached.map((refusal) => [refusal.file, refusal]));
  const refused = (refusal: RefusedAttachment) => notAttached.set(refusal.file, refusal);
  // The notices come first, since clients read the transcript as soon as a run has ended.
  if (message.options?.operator === true && kind.isUse)
    await retryWhileDiskFull(
      "notice",
      () => appendNotices(session, end, { ...ports, agent, runId: facts.runId, refused }),
      ports,
    );
  // From here on the journal need not have the message, so the transcript must: a run without an answer has not synced
  // the message's entry.
  await retryWhileDiskFull("transcript", () => session.sync(), ports);
  const receipt = {
    ...end.receipt,
    ...(files.length > 0 && { files }),
    ...(notAttached.size > 0 && { notAttached: [...notAttached.values()] }),
  };
  const at = clock.now();
  const chat = kind.isUse ? { ...chatFacts(message), abortedLastRun: wasStopped(end), updatedAt: at } : {};
  const patch = { ...chat, ...countersOf(session, end) };
  await retryWhileDiskFull("session row", () => session.update(patch), ports);
  const how = result.kind === "failed" ? `failed:${result.failure.kind}` : result.kind;
  const record = { runId: facts.runId, sessionKey: session.key, agentId: facts.agentId, at, receipt, result: how };
  await endTurn(record, prepared.rows, end.outcome, ports);
  await removeEvents(prepared, session, end, ports);
}

/** The record and the outcome are one write: a crash leaves both or neither. */
async function endTurn(
  record: RunRecord,
  rows: PreparedTurn["rows"],
  outcome: TurnEnd["outcome"],
  ports: RecordPorts,
): Promise<void> {
  const { inbox } = ports.storage.journal;
  const ids = rows.map((row) => row.id);
  const final = outcome === "unfinished" ? undefined : outcome;
  await retryWhileDiskFull("receipt and outcome", () => inbox.recordTurn(record, ids, final), ports);
  if (final) endSigns(rows, final, ports);
}

/** True when a person stopped the run: the prompt of the next turn mentions that. */
const wasStopped = ({ result }: RunEnd): true | undefined =>
  result.kind === "aborted" && result.by === "user" ? true : undefined;

function countersOf(session: Session, { receipt, filled, window, compactions }: RunEnd): SessionPatch {
  const { usage } = receipt;
  const { entry } = session;
  return {
    inputTokens: (entry.inputTokens ?? 0) + usage.input,
    outputTokens: (entry.outputTokens ?? 0) + usage.output,
    ...(filled !== undefined && { totalTokens: filled, totalTokensFresh: true }),
    ...(window !== undefined && { contextTokens: window, systemSent: true }),
    ...(compactions > 0 && { compactionCount: (entry.compactionCount ?? 0) + compactions }),
    ...profileOf(session, receipt),
  };
}

/** The key that was used is asked first next time. A key that the user pinned stays. */
function profileOf({ entry }: Session, { profile }: Receipt): SessionPatch {
  if (profile === undefined || entry.authProfileOverrideSource === "user") return {};
  return { authProfileOverride: profile, authProfileOverrideSource: "auto" };
}

type NoticePorts = Pick<DispatchPorts, "storage"> & {
  readonly agent: AgentSettings;
  readonly runId: RunId;
  /** Called for each file of the answer that is not attached. */
  readonly refused: (refusal: RefusedAttachment) => void;
};

/**
 * Appends the texts that chats get as separate messages to the transcript, for web clients: files, a change of model, a
 * failure.
 */
async function appendNotices(session: Session, end: RunEnd, ports: NoticePorts): Promise<void> {
  const { result, changes } = end;
  await appendFiles(session, end.texts, ports);
  for (const text of changes) await session.append({ type: "custom", customType: NOTICE_TYPE, data: { text } });
  const text = noticeFor(result, { isOperator: true });
  if (text === undefined) return;
  const failed = result.kind === "failed" && { error: result.failure.message, failure: result.failure.kind };
  const data = { text, ...failed };
  await session.append({ type: "custom", customType: NOTICE_TYPE, data });
}

/** Appends the files of an answer, only once even after a restart. */
async function appendFiles(
  session: Session,
  texts: readonly string[],
  { agent: { workspace }, runId, storage: { media: store, closedPaths }, refused }: NoticePorts,
): Promise<void> {
  const { media: refs, audioAsVoice } = parseDirectives(texts.join("\n\n"));
  if (refs.length === 0) return;
  const id = createHash("sha256").update(`files\n${runId}`).digest("hex").slice(0, 16);
  if ((await session.after(id)) !== undefined) return;
  const blocks = await attach(refs, audioAsVoice, {
    media: store,
    closedPaths,
    // The operator reads the page, so no file is closed as it is to guests.
    guestOf: [],
    workspace,
    refused,
    sessionKey: session.key,
  });
  const text = blocks.flatMap((block) => (block.kind === "media" ? [] : [block.markdown])).join("\n\n");
  const media = blocks.flatMap((block) => (block.kind === "media" ? [block.media] : []));
  const data = { text, runId, ...(media.length > 0 && { media }) };
  await session.append({ type: "custom", customType: NOTICE_TYPE, data }, { id });
}

/** The fields of a session's row about its chat: its kind, its name, and where the last message came from. */
function chatFacts(message: InboundMessage): SessionPatch {
  // An operator who writes into a channel's session does not change its chat.
  if (message.options?.operator === true)
    return isWebChat(message) ? { chatType: "direct", lastChannel: "webchat" } : {};
  const { sender } = message;
  const { channel, account, chat, thread } = message.from;
  const isGroup = chat.kind === "group";
  const name = isGroup ? chat.title : (message.sender.name ?? message.sender.username);
  return {
    chatType: thread === undefined ? chat.kind : "thread",
    channel,
    lastChannel: channel,
    lastTo: `${channel}:${chat.id}`,
    lastAccountId: account,
    origin: {
      provider: channel,
      from: `${channel}:${nameOf(sender)}`,
      ...(!isGroup && sender.username !== undefined && { username: sender.username }),
    },
    ...(thread !== undefined && { lastThreadId: thread }),
    ...(isGroup && { groupId: chat.id }),
    ...(isGroup && chat.title !== undefined && { subject: chat.title }),
    ...(name !== undefined && { displayName: name }),
  };
}

const nameOf = ({ id, e164 = id }: Sender): string => e164;

const isWebChat = (message: InboundMessage): boolean => message.options?.sessionKey?.startsWith("webchat:") ?? true;

/**
 * Sends the answer as a voice message too, where that is wished. The message is planned before the outcome, so that a
 * restart does not repeat it; an answer without the message is whole, too. Never rejects.
 */
async function speakAnswer(turn: Turn, ports: TurnPorts): Promise<void> {
  const {
    prompts: { speaker },
    log,
  } = ports;
  const { rows, agent, facts } = turn.get("prepared");
  const [row] = rows;
  const outcome = turn.get("outcome");
  if (!row || outcome === "unfinished" || outcome.kind !== "replied") return;
  const text = await wishedText(turn, speaker, ports);
  if (text === "") return;
  try {
    const speak = () => speaker.speak({ text, signal: turn.slot.stopping, origin: callOriginOf(facts) });
    await send(row, await typingWhile(row, agent, ports, speak), turn, ports);
  } catch (error) {
    log.warn("answer not spoken", { inbox: row.id, error });
  }
}

/** The text of the answer that is to be spoken in a person's chat; empty when nothing is to be spoken. */
async function wishedText(turn: Turn, speaker: Speaker, ports: TurnPorts): Promise<string> {
  const { rows, kind, agent, message } = turn.get("prepared");
  const level = levelOf(turn, ports) ?? speaker.levelOf(agent.id);
  if (level === "off" || !kind.takesCommands || !addressed(message)) return "";
  const { texts } = await runEndOf(turn.get("active").run);
  const parsed = parseReply(texts.join("\n\n"));
  const isThere = parsed.silent || parsed.audioAsVoice;
  const isTagged = parsed.spoken !== undefined;
  return !isThere && isWished(level, isTagged, rows) ? spokenText(parsed.spoken || parsed.text) : "";
}

/** The level that the messages, else the session, set; undefined when neither does. */
function levelOf(turn: Turn, ports: TurnPorts): SpeechLevel | undefined {
  const messages = turn.get("prepared").rows.map(({ message }) => message);
  return setBy(messages, turn.key, ports).tts ?? speechLevelOf(ports.storage.sessions.peek(turn.key)?.ttsAuto);
}

function isWished(level: SpeechLevel, isTagged: boolean, rows: readonly InboxRow[]): boolean {
  if (level === "always" || isTagged) return true;
  const isSpoken = ({ message }: InboxRow) => message.media.some(({ kind }) => kind === "voice" || kind === "audio");
  return level === "inbound" && rows.some(isSpoken);
}

async function send(row: InboxRow, { bytes, mime, name }: Speech, turn: Turn, ports: TurnPorts): Promise<void> {
  const stored = await ports.storage.media.put(bytes, { mime, name });
  const to = row.message.options?.deliverTo ?? row.message.from;
  const blocks = [mediaBlock(stored, { name, asVoice: true })];
  const answered = { inboxId: row.id, answers: row.message.eventKey };
  await ports.chats.outbox.deliver({ replyKey: `in:${row.id}:voice`, ...answered, to, blocks }, { session: turn.key });
}
