import { readOwnNote } from "openclaw/plugin-sdk";
import type { ChannelHost, InboundMessage } from "openclaw/plugin-sdk";
import { z } from "zod";

/** Facts in a message about the album that it announces or is a part of. */
export interface AlbumNews {
  /** The same for the announcement and all parts. */
  readonly key: string;
  /** How many files the album will have; the announcement has the number. */
  readonly expected?: number;
}

interface Album extends AlbumNews {
  readonly parts: readonly InboundMessage[];
  /** Epoch milliseconds at which the album is passed on, complete or not. */
  readonly until: number;
  /** The host may have the album. It takes no further part: the host ignores a message that it has already. */
  readonly isPassedOn?: true;
}

interface State {
  readonly open: readonly Album[];
  /** Keys of albums that were passed on and event keys of their parts, newest last. A part that comes later is a message of its own. */
  readonly done: readonly string[];
}

interface Ports {
  readonly host: ChannelHost;
  /** Aborted when the account closes. */
  readonly signal: AbortSignal;
  /** Milliseconds without a further file after which an incomplete album is passed on. */
  readonly waitMs: number;
  /** Repeats work until it succeeds. Rejects when the account closes before. */
  insist(work: () => Promise<void>): Promise<void>;
}

const NOTE = "albums";
const MOST_FILES = 100;
const MOST_OPEN = 50;
const MOST_DONE = 500;

const isMessage = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "eventKey" in value && "from" in value && "media" in value;

const noteShape = z.object({
  open: z.array(
    z.object({
      key: z.string(),
      expected: z.number().optional(),
      parts: z.array(z.custom<InboundMessage>(isMessage)),
      until: z.number(),
      isPassedOn: z.literal(true).optional(),
    }),
  ),
  done: z.array(z.string()),
});

/**
 * Collects the files that a person sent as an album and passes them on as one message: when all are there, or when no
 * further file came for a while. Collected files are durable, so that the adapter may acknowledge them.
 */
export class Albums {
  readonly #ports: Ports;
  #state: State = { open: [], done: [] };
  #last: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(ports: Ports) {
    this.#ports = ports;
    ports.signal.addEventListener("abort", () => clearTimeout(this.#timer), { once: true });
  }

  /** Continues with the albums that were incomplete when the process ended. Rejects when notes cannot be read. */
  async begin(): Promise<void> {
    const { host, waitMs } = this.#ports;
    const note = await readOwnNote(host, NOTE, noteShape);
    const until = Date.now() + waitMs;
    const open = (note?.open ?? []).map(({ key, expected, parts, isPassedOn }) => ({
      key,
      parts,
      until: isPassedOn ? 0 : until,
      ...(expected !== undefined && { expected }),
      ...(isPassedOn && { isPassedOn }),
    }));
    this.#state = { open, done: note?.done ?? [] };
    this.#setTimer();
  }

  /** Takes the announcement of an album, or a file of one. Resolves when it is durable; rejects when the account closes before. */
  async take(news: AlbumNews, part?: InboundMessage): Promise<void> {
    await this.#inTurn(async () => {
      await this.#passOn(isMarked);
      const { done } = this.#state;
      if (part && done.includes(part.eventKey)) return;
      if (done.includes(news.key)) return part && this.#ports.insist(() => this.#pass([part]));
      await this.#write({ done, open: this.#with(news, part) });
      await this.#passOn(isMarked);
    });
  }

  /**
   * The open albums with the new part. An album that is complete with it is marked, so that a repeat of this step adds
   * nothing.
   */
  #with(news: AlbumNews, part: InboundMessage | undefined): readonly Album[] {
    const known = this.#state.open.find(({ key }) => key === news.key);
    const before = known?.parts ?? [];
    const isNew = part !== undefined && before.every(({ eventKey }) => eventKey !== part.eventKey);
    const parts = isNew ? [...before, part] : before;
    const expected = news.expected ?? known?.expected;
    const isWhole = parts.length > 0 && parts.length >= Math.min(expected ?? MOST_FILES, MOST_FILES);
    const album: Album = {
      key: news.key,
      parts,
      until: Date.now() + this.#ports.waitMs,
      ...(expected !== undefined && { expected }),
      ...(isWhole && { isPassedOn: true }),
    };
    const others = this.#state.open.filter((one) => one !== known);
    // More than anybody sends at once; the oldest ones have waited enough.
    const late = Math.max(0, others.length + 1 - MOST_OPEN);
    return [...others.map((one, at): Album => (at < late ? { ...one, isPassedOn: true } : one)), album];
  }

  /** Passes on the albums that `fits` selects. The mark is durable before, so that the next process adds no part to them. */
  async #passOn(fits: (album: Album) => boolean): Promise<void> {
    const { open, done } = this.#state;
    const due = open.filter(fits);
    if (due.some(({ isPassedOn }) => !isPassedOn)) {
      await this.#write({ done, open: open.map((one) => (fits(one) ? { ...one, isPassedOn: true } : one)) });
    }
    const messages = due.flatMap(({ parts }) => joined(parts));
    if (messages.length > 0) await this.#ports.insist(() => this.#pass(messages));
    if (due.length > 0) {
      const keys = due.flatMap(({ key, parts }) => [key, ...parts.map(({ eventKey }) => eventKey)]);
      const rest = this.#state.open.filter(({ key }) => !keys.includes(key));
      await this.#write({ open: rest, done: [...done, ...keys].slice(-MOST_DONE) });
    }
    this.#setTimer();
  }

  async #pass(messages: readonly InboundMessage[]): Promise<void> {
    await this.#ports.host.receive(messages);
  }

  async #write(state: State): Promise<void> {
    await this.#ports.insist(() => this.#ports.host.notes.set(NOTE, JSON.stringify(state)));
    this.#state = state;
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    const { open } = this.#state;
    if (open.length === 0 || this.#ports.signal.aborted) return;
    const ms = Math.max(0, Math.min(...open.map(({ until }) => until)) - Date.now());
    this.#timer = setTimeout(() => {
      const work = this.#inTurn(async () => {
        const now = Date.now();
        await this.#passOn(({ until }) => until <= now);
      });
      work.catch((error: unknown) => {
        // The account closes: the next start continues.
        if (this.#ports.signal.aborted) return;
        this.#ports.host.log.warn("albums could not be passed on", { error: String(error) });
      });
    }, ms);
  }

  async #inTurn(work: () => Promise<void> | undefined): Promise<void> {
    const done = this.#last.then(work);
    // The caller gets the failure; the next work in the queue does not.
    this.#last = done.catch(() => undefined);
    await done;
  }

  /** Resolves when nothing is being stored. */
  async idle(): Promise<void> {
    await this.#last;
  }
}

const isMarked = ({ isPassedOn }: Album): boolean => isPassedOn === true;

/** The parts as one message. It has the event key of the first part, so that a repeated message is recognised. */
function joined(parts: readonly InboundMessage[]): readonly InboundMessage[] {
  const [first] = parts;
  if (!first) return [];
  const quoted = parts.find(({ replyTo }) => replyTo)?.replyTo;
  const untrusted = [...new Set(parts.flatMap((part) => part.untrusted ?? []))];
  return [
    {
      ...first,
      text: parts.flatMap(({ text }) => (text === "" ? [] : [text])).join("\n"),
      media: parts.flatMap(({ media }) => media),
      mentionsBot: parts.some(({ mentionsBot }) => mentionsBot),
      ...(quoted && { replyTo: quoted }),
      ...(untrusted.length > 0 && { untrusted }),
    },
  ];
}
