import type { AccountNotes, ChannelHost, InboundMessage } from "openclaw/plugin-sdk";
import { z } from "zod";
import { readOwnNote } from "openclaw/plugin-sdk";

/** A received message, with the id of its album if it is part of one. */
export interface Incoming {
  readonly message: InboundMessage;
  readonly album?: string;
}

/** The parts of an album that have arrived; there may be more. */
export interface Album {
  readonly id: string;
  readonly parts: readonly InboundMessage[];
  /** Epoch milliseconds at which it counts as complete. */
  readonly until: number;
}

export interface AlbumState {
  readonly open: readonly Album[];
  /** Event keys of parts that were passed on, newest last: Telegram may offer them again. */
  readonly done: readonly string[];
}

/** core.telegram.org/bots/api#sendmediagroup: an album has 2–10 items. */
const MAX_PARTS = 10;
const MOST_DONE = 200;
const NOTE = "albums";

export const NO_ALBUMS: AlbumState = { open: [], done: [] };

/**
 * Collects the parts of albums and returns what is ready, in order. A later message of the same chat shows that an album is complete.
 * Pure; a repeated message changes nothing.
 */
export function sort(
  state: AlbumState,
  incoming: readonly Incoming[],
  until: number,
): { readonly ready: readonly InboundMessage[]; readonly state: AlbumState } {
  const ready: InboundMessage[] = [];
  let next = state;
  for (const item of incoming) {
    if (next.done.includes(item.message.eventKey)) continue;
    const ended = close(next, (album) => ends(item, album));
    ready.push(...ended.ready);
    next = ended.state;
    if (item.album === undefined) {
      ready.push(item.message);
      continue;
    }
    const full = close(add(next, { id: item.album, part: item.message, until }), isFull);
    ready.push(...full.ready);
    next = full.state;
  }
  return { ready, state: next };
}

/** Completes the albums that `fits` selects, each as one message. Pure. */
export function close(
  state: AlbumState,
  fits: (album: Album) => boolean,
): { readonly ready: readonly InboundMessage[]; readonly state: AlbumState } {
  const ended = state.open.filter(fits);
  if (ended.length === 0) return { ready: [], state };
  const keys = ended.flatMap(({ parts }) => parts.map(({ eventKey }) => eventKey));
  return {
    ready: ended.map(({ parts }) => joined(parts)),
    state: { open: state.open.filter((album) => !fits(album)), done: [...state.done, ...keys].slice(-MOST_DONE) },
  };
}

function add(state: AlbumState, { id, part, until }: { id: string; part: InboundMessage; until: number }): AlbumState {
  const album = state.open.find((it) => it.id === id);
  if (!album) return { ...state, open: [...state.open, { id, parts: [part], until }] };
  if (album.parts.some(({ eventKey }) => eventKey === part.eventKey)) return state;
  const longer = { id, parts: [...album.parts, part], until };
  return { ...state, open: state.open.map((it) => (it === album ? longer : it)) };
}

const isFull = ({ parts }: Album): boolean => parts.length >= MAX_PARTS;

/** Whether this message shows that an album is complete. Albums of two people may overlap. */
function ends({ message, album: id }: Incoming, album: Album): boolean {
  const [first] = album.parts;
  if (id === album.id || message.event !== undefined || first?.from.chat.id !== message.from.chat.id) return false;
  return id === undefined || first.sender.id === message.sender.id;
}

/** One message with all files. It has the event key of the first part, so that a repeated album is recognised. */
function joined(parts: readonly InboundMessage[]): InboundMessage {
  const [first] = parts;
  if (!first) throw new Error("an album without parts");
  const quoted = parts.find(({ replyTo }) => replyTo)?.replyTo;
  const untrusted = [...new Set(parts.flatMap((part) => part.untrusted ?? []))];
  return {
    ...first,
    text: parts.flatMap(({ text }) => (text === "" ? [] : [text])).join("\n"),
    media: parts.flatMap(({ media }) => media),
    mentionsBot: parts.some(({ mentionsBot }) => mentionsBot),
    ...(quoted && { replyTo: quoted }),
    ...(untrusted.length > 0 && { untrusted }),
  };
}

const isMessage = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "eventKey" in value && "from" in value && "media" in value;

const noteShape = z.object({
  open: z.array(z.object({ id: z.string(), parts: z.array(z.custom<InboundMessage>(isMessage)), until: z.number() })),
  done: z.array(z.string()),
});

/** The albums that were incomplete when the process ended. */
export const readNote = async (host: ChannelHost): Promise<AlbumState> =>
  (await readOwnNote(host, NOTE, noteShape)) ?? NO_ALBUMS;

/** Resolves when it is durable. */
export async function writeNote(notes: AccountNotes, state: AlbumState): Promise<void> {
  await notes.set(NOTE, JSON.stringify(state));
}
