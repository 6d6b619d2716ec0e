import type { AccountNotes, ChannelHost, InboundMessage } from "openclaw/plugin-sdk";
import { z } from "zod";
import { readOwnNote } from "openclaw/plugin-sdk";

/** A received message, with the id of its album if it is part of one. */
export interface Incoming {
  readonly message: InboundMessage;
  readonly album?: string;
}

/**
 * The arrived parts of a message that a person sent as one: an album, or a text that the app split. More parts may
 * come.
 */
export interface SplitMessage {
  readonly id: string;
  readonly kind: "album" | "text";
  readonly parts: readonly InboundMessage[];
  /** Epoch milliseconds at which the message counts as complete. */
  readonly until: number;
  /** The host may have the message. It takes no further part: the host ignores a message that it has already. */
  readonly isPassedOn?: true | undefined;
}

export interface SplitState {
  readonly open: readonly SplitMessage[];
  /** Event keys of parts that were passed on, newest last: Telegram may offer them again. */
  readonly done: readonly string[];
}

/**
 * Messages that are ready to be passed on, and the state after them. `first` must be durable before anything is passed
 * on.
 */
interface Sorted {
  readonly ready: readonly InboundMessage[];
  readonly state: SplitState;
  readonly first?: SplitState;
}

/** The times until which an incomplete album and an incomplete text wait for their next part; epoch milliseconds. */
export interface Waits {
  readonly album: number;
  readonly text: number;
}

/** core.telegram.org/bots/api#sendmediagroup: an album has 2–10 items. */
const MAX_FILES = 10;
/** Messages that one text may be split into: some 64,000 characters. */
const MAX_TEXTS = 16;
/** The length of a message. Apps split a longer text here, or at white space shortly before. */
const FULL = 4096;
/** Length from which on a message may be the part of a longer text. */
const NEARLY_FULL = 4000;
/** Milliseconds between two parts of a text by Telegram's clock, which has seconds. */
const TEXT_GAP_MS = 2000;
const MOST_DONE = 200;
const NOTE = "albums";

export const NOTHING_SPLIT: SplitState = { open: [], done: [] };

/**
 * Collects the parts of split messages and returns the messages that are ready, in order. A later message of the same
 * chat shows that an album is complete, a later message of the same person that a text is. Pure; a repeated message
 * changes nothing.
 */
export function sort(state: SplitState, incoming: readonly Incoming[], until: Waits): Sorted {
  const ready: InboundMessage[] = [];
  const closed: SplitMessage[] = [];
  let next = state;
  for (const item of incoming) {
    if (next.done.includes(item.message.eventKey)) continue;
    const ended = close(next, (split) => ends(item, split));
    ready.push(...ended.ready);
    next = ended.state;
    // A part of a message that was being passed on, and that ended here.
    if (next.done.includes(item.message.eventKey)) continue;
    const part = partOf(item, next, until);
    if (!part) {
      ready.push(item.message);
      continue;
    }
    const complete = close(add(next, part), isComplete);
    ready.push(...complete.ready);
    closed.push(...complete.closed);
    next = complete.state;
  }
  const first = withLastParts(state, closed);
  return { ready, state: next, ...(first && { first }) };
}

/**
 * The state with the last parts of messages that were open in it. Without it, a process that is killed when such a message was passed
 * on, and before that is noted, would pass on its last part again as a message of its own.
 */
function withLastParts(state: SplitState, closed: readonly SplitMessage[]): SplitState | undefined {
  const wasOpen = (split: SplitMessage) =>
    state.open.some(({ parts: [known] }) => known?.eventKey === split.parts[0]?.eventKey);
  const whole = closed.filter(wasOpen);
  const firsts = new Set(whole.map(({ parts }) => parts[0]?.eventKey));
  const others = state.open.filter(({ parts }) => !firsts.has(parts[0]?.eventKey));
  return whole.length > 0 ? { ...state, open: [...others, ...whole] } : undefined;
}

/**
 * Marks the messages that `fits` selects as being passed on. Pure; the same state when all selected messages are
 * marked.
 */
export function markPassedOn(state: SplitState, fits: (split: SplitMessage) => boolean): SplitState {
  const isNew = (split: SplitMessage): boolean => !isPassedOn(split) && fits(split);
  if (!state.open.some(isNew)) return state;
  return { ...state, open: state.open.map((split) => (isNew(split) ? { ...split, isPassedOn: true } : split)) };
}

export const isPassedOn = (split: SplitMessage): boolean => split.isPassedOn === true;

/**
 * The state of an earlier process, as the next one begins with it: incomplete messages wait for their next parts anew. The complete
 * ones are marked, because the earlier process may have passed them on. Pure.
 */
export function resumed(state: SplitState, until: number): SplitState {
  return markPassedOn({ ...state, open: state.open.map((split) => ({ ...split, until })) }, isComplete);
}

/** Completes the messages that `fits` selects. Pure. */
export function close(
  state: SplitState,
  fits: (split: SplitMessage) => boolean,
): { readonly ready: readonly InboundMessage[]; readonly closed: readonly SplitMessage[]; readonly state: SplitState } {
  const ended = state.open.filter(fits);
  if (ended.length === 0) return { ready: [], closed: [], state };
  const keys = ended.flatMap(({ parts }) => parts.map(({ eventKey }) => eventKey));
  return {
    ready: ended.map(joined),
    closed: ended,
    state: { open: state.open.filter((split) => !fits(split)), done: [...state.done, ...keys].slice(-MOST_DONE) },
  };
}

/** The part of a split message that this is; undefined when it is a message of its own. */
function partOf({ message, album }: Incoming, { open }: SplitState, until: Waits): SplitMessage | undefined {
  if (album !== undefined) return { id: album, kind: "album", parts: [message], until: until.album };
  const id = textIdOf(message);
  const mayBeFirst = isText(message) && message.text.length >= NEARLY_FULL;
  const isNext = open.some((split) => split.id === id);
  return mayBeFirst || isNext ? { id, kind: "text", parts: [message], until: until.text } : undefined;
}

/** Id of a person's open text in a place: there is at most one. */
const textIdOf = ({ from: { chat, thread }, sender }: InboundMessage): string =>
  `text:${chat.id}:${thread ?? ""}:${sender.id}`;

function add(state: SplitState, part: SplitMessage): SplitState {
  const split = state.open.find(({ id }) => id === part.id);
  if (!split) return { ...state, open: [...state.open, part] };
  const { parts } = split;
  if (part.parts.some(({ eventKey }) => parts.some((known) => known.eventKey === eventKey))) return state;
  const longer = { ...part, parts: [...parts, ...part.parts] };
  return { ...state, open: state.open.map((it) => (it === split ? longer : it)) };
}

/** The last part of a text is a short one. */
function isComplete({ kind, parts }: SplitMessage): boolean {
  if (kind === "album") return parts.length >= MAX_FILES;
  return parts.length >= MAX_TEXTS || (parts.at(-1)?.text.length ?? 0) < NEARLY_FULL;
}

/** Whether this message shows that a split one is complete. Albums of two people may overlap. */
function ends({ message, album: id }: Incoming, split: SplitMessage): boolean {
  if (isPassedOn(split)) return true;
  const [first] = split.parts;
  if (message.event !== undefined || first?.from.chat.id !== message.from.chat.id) return false;
  const isSamePerson = first.sender.id === message.sender.id;
  if (split.kind === "text") return isSamePerson && !(id === undefined && continues(message, split));
  return id !== split.id && (id === undefined || isSamePerson);
}

/** A command is never the continuation of a text. */
function continues(message: InboundMessage, { id, parts }: SplitMessage): boolean {
  const last = parts.at(-1);
  if (parts.some(({ eventKey }) => eventKey === message.eventKey)) return true;
  if (!isText(message) || textIdOf(message) !== id || message.replyTo || message.text.startsWith("/")) return false;
  return Math.abs((message.sentAt ?? 0) - (last?.sentAt ?? 0)) <= TEXT_GAP_MS;
}

const isText = ({ text, media, event, isEdit, untrusted }: InboundMessage): boolean =>
  text !== "" && media.length === 0 && event === undefined && isEdit !== true && untrusted === undefined;

/** The parts as one message. It has the event key of the first part, so that a repeated message is recognised. */
function joined({ kind, parts }: SplitMessage): InboundMessage {
  const [first] = parts;
  if (!first) throw new Error("a split message without parts");
  const quoted = parts.find(({ replyTo }) => replyTo)?.replyTo;
  const untrusted = [...new Set(parts.flatMap((part) => part.untrusted ?? []))];
  return {
    ...first,
    text: kind === "text" ? wholeText(parts) : parts.flatMap(({ text }) => (text === "" ? [] : [text])).join("\n"),
    media: parts.flatMap(({ media }) => media),
    mentionsBot: parts.some(({ mentionsBot }) => mentionsBot),
    ...(quoted && { replyTo: quoted }),
    ...(untrusted.length > 0 && { untrusted }),
  };
}

/**
 * The text of all parts. Apps cut a text at white space, which they leave out, and a word only where there is no white
 * space for long.
 */
const wholeText = (parts: readonly InboundMessage[]): string =>
  parts.map(({ text }, at) => (at === parts.length - 1 || isCutInWord(text) ? text : `${text}\n`)).join("");

const isCutInWord = (text: string): boolean => text.length >= FULL && !/\s/.test(text.slice(-FULL / 2));

const isMessage = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "eventKey" in value && "from" in value && "media" in value;

const noteShape = z.object({
  open: z.array(
    z.object({
      id: z.string(),
      kind: z.enum(["album", "text"]).default("album"),
      parts: z.array(z.custom<InboundMessage>(isMessage)),
      until: z.number(),
      isPassedOn: z.literal(true).optional(),
    }),
  ),
  done: z.array(z.string()),
});

/** The split messages that were incomplete when the process ended. */
export const readSplitNote = async (host: ChannelHost): Promise<SplitState> =>
  (await readOwnNote(host, NOTE, noteShape)) ?? NOTHING_SPLIT;

/** Writes the state. Resolves when it is durable. */
export async function writeNote(notes: AccountNotes, state: SplitState): Promise<void> {
  await notes.set(NOTE, JSON.stringify(state));
}
