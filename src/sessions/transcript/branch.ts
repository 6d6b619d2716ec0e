import type { SessionWindow, TranscriptEntry } from "../../types/session.ts";
import { type EntryLink, refusedThinkingIn, messageOf } from "./entries.ts";
import { CHARS_PER_TOKEN, estimateTextTokens, estimateInRequest } from "./tokens.ts";
import type { ChatMessage } from "../../types/run/model.ts";
import { beginsTurn } from "../../types/run/turns.ts";

interface Compaction {
  readonly id: string;
  readonly summary: string;
  readonly firstKept: string;
  readonly tokens: number;
}

/** A full window is reduced to this share, so that its start, and with it the provider's prompt cache, stays for many turns. */
const KEPT_SHARE = 0.75;
/** Limits that differ less count as equal, because the length of the system prompt changes a little from turn to turn. */
const SAME_LIMIT = 1.1;
/** Bytes of an entry in memory, besides its text: ids, times, usage and the objects around them. */
const NODE_BYTES = 550;
// Items below which forgetting saves nothing.
const FORGET_ITEMS = 4096;

/**
 * The newest part of the path from the leaf to the root, in memory. Grows at both ends: by appends, and backwards as
 * the file is read. The window slides over it with a running sum, so that the cost of a turn grows only with its own
 * entries.
 */
export class Branch {
  #nodes: BranchNode[] = [];
  /** Ids of the nodes. Most look-ups are for an entry that is not there, for which all nodes would be compared. */
  readonly #ids = new Set<string>();
  #items: MessageNode[] = [];
  /** Entries that were read from the file, newest first, and not added yet. */
  #staged: BranchNode[] = [];
  #compaction: Compaction | undefined;
  /**
   * Refused thinking by model. A branch that is cut keeps these facts: they are about answers before the cut, or about
   * none.
   */
  #refusedThinking: Readonly<Record<string, number>> | undefined;
  /** Tokens of all items, with those of items that were not added yet. */
  #loaded = 0;
  #turns = 0;
  #start = 0;
  /** Tokens of the items from `#start` on. */
  #total = 0;
  #lastMax = -1;
  #isComplete: boolean;
  /** The entry that is read next towards the root. */
  #wanted: string | null;

  constructor(leafId: string | null) {
    this.#wanted = leafId;
    this.#isComplete = leafId === null;
  }

  /** Whether nothing older belongs to the context. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  get wanted(): string | null {
    return this.#wanted;
  }

  /** Byte of the oldest line in memory. */
  get offset(): number | undefined {
    return (this.#staged.at(-1) ?? this.#nodes[0])?.offset;
  }

  get bytesHeld(): number {
    return this.#loaded * CHARS_PER_TOKEN + (this.#nodes.length + this.#staged.length) * NODE_BYTES;
  }

  has(entryId: string): boolean {
    return this.#ids.has(entryId);
  }

  /** Whether enough is in memory for a window of this many tokens. */
  covers(maxTokens: number): boolean {
    return this.#isComplete || (this.#loaded > maxTokens && this.#turns > 0);
  }

  /** Adds the wanted entry, which was read from the file. */
  addOlder(link: EntryLink, offset: number): void {
    const node = new BranchNode(link, offset);
    this.#staged.push(node);
    this.#wanted = link.parentId;
    this.#count(node, 1);
    this.#noteRefused(link);
    if (link.entry?.type === "compaction") this.#compaction ??= toCompaction(link.entry);
    if (link.id === this.#compaction?.firstKept || link.parentId === null) this.#isComplete = true;
  }

  /** Records that nothing is left to read, so that a wanted entry does not exist. */
  endOfFile(): void {
    this.#isComplete = true;
    this.#wanted = null;
  }

  /** Adds the entries that were read to the entries in memory. */
  settle(): void {
    if (this.#staged.length > 0) {
      const older = this.#staged.toReversed();
      const items = itemsOf(older);
      for (const { entryId } of older) this.#ids.add(entryId);
      this.#staged = [];
      this.#nodes = older.concat(this.#nodes);
      this.#items = items.concat(this.#items);
      this.#start += items.length;
      this.#lastMax = -1;
    }
    if (this.#isComplete) this.#dropBeforeCompaction();
  }

  append(link: EntryLink, offset: number): void {
    const node = new BranchNode(link, offset);
    this.#nodes.push(node);
    this.#ids.add(node.entryId);
    this.#count(node, 1);
    this.#noteRefused(link);
    if (node.hasMessage()) {
      this.#items.push(node);
      this.#total += node.tokens;
    }
    if (link.entry?.type !== "compaction") return;
    this.settle();
    this.#compaction = toCompaction(link.entry);
    this.#dropBeforeCompaction();
  }

  /** Makes an entry in memory the last one. False when it is not in memory: then the branch must be read again. */
  cutTo(entryId: string): boolean {
    const at = this.#lastIndexOf(entryId);
    if (at < 0 || this.#nodes.slice(at + 1).some((node) => node.entryId === this.#compaction?.id)) return false;
    for (const node of this.#nodes.splice(at + 1).toReversed()) this.#removeLast(node);
    this.#lastMax = -1;
    return true;
  }

  /** The entries after this one, oldest first. The work grows with their number. */
  after(entryId: string): readonly TranscriptEntry[] | undefined {
    const at = this.#lastIndexOf(entryId);
    if (at < 0) return undefined;
    return this.#nodes.slice(at + 1).flatMap((node) => node.entry ?? []);
  }

  newest(count: number): readonly TranscriptEntry[] {
    return this.#nodes.slice(-count).flatMap((node) => node.entry ?? []);
  }

  parentOf(entryId: string): string | null | undefined {
    return this.#nodes[this.#lastIndexOf(entryId)]?.parentId;
  }

  #lastIndexOf(entryId: string): number {
    return this.#ids.has(entryId) ? this.#nodes.findLastIndex((node) => node.entryId === entryId) : -1;
  }

  /** The newest items from a user turn on, with at most this many tokens. The last turn is always whole. */
  window(maxTokens: number): SessionWindow {
    const summary = this.#compaction?.summary;
    this.#fit(maxTokens - (this.#compaction?.tokens ?? 0));
    this.#forget();
    return {
      messages: this.#items.slice(this.#start),
      estimatedTokens: this.#total + (this.#compaction?.tokens ?? 0),
      older: this.#start > 0 || !this.#isComplete,
      ...(summary === undefined ? {} : { summary }),
      ...(this.#refusedThinking && { refusedThinking: this.#refusedThinking }),
    };
  }

  /**
   * Moves the start of the window. With nearly the same limit the start only moves forward, in steps. With another
   * limit it is chosen anew.
   */
  #fit(maxTokens: number): void {
    const isSame = this.#lastMax <= maxTokens * SAME_LIMIT && maxTokens <= this.#lastMax * SAME_LIMIT;
    if (this.#lastMax < 0 || !isSame) {
      this.#moveStart(Math.max(0, this.#lastTurn()));
      this.#moveStart(this.#earliest(maxTokens));
      this.#lastMax = maxTokens;
      return;
    }
    if (this.#total <= maxTokens) return;
    while (this.#total > maxTokens * KEPT_SHARE) {
      const next = this.#nextTurn();
      if (next < 0) return;
      this.#moveStart(next);
    }
  }

  #lastTurn(): number {
    return this.#items.findLastIndex((item) => item.isTurn);
  }

  #earliest(maxTokens: number): number {
    let found = this.#start;
    let sum = this.#total;
    for (let at = this.#start - 1; at >= 0; at -= 1) {
      const item = this.#items[at];
      sum += item?.tokens ?? 0;
      if (sum > maxTokens) break;
      if (item?.isTurn || (at === 0 && this.#isComplete)) found = at;
    }
    return found;
  }

  #nextTurn(): number {
    for (let at = this.#start + 1; at < this.#items.length; at += 1) if (this.#items[at]?.isTurn) return at;
    return -1;
  }

  #moveStart(to: number): void {
    for (let at = to; at < this.#start; at += 1) this.#total += this.#items[at]?.tokens ?? 0;
    for (let at = this.#start; at < to; at += 1) this.#total -= this.#items[at]?.tokens ?? 0;
    this.#start = to;
  }

  /** A long session needs only the memory of its window. */
  #forget(): void {
    if (this.#start < FORGET_ITEMS || this.#start < this.#items.length / 2) return;
    const first = this.#items[this.#start]?.entryId;
    const at = this.#nodes.findIndex((node) => node.entryId === first);
    if (at <= 0) return;
    this.#dropFront(at);
    this.#isComplete = false;
  }

  /**
   * Messages that a summary replaces are not in the window. If the first entry that it keeps is missing, it replaces all
   * earlier ones.
   */
  #dropBeforeCompaction(): void {
    if (!this.#compaction) return;
    const { id, firstKept } = this.#compaction;
    const kept = this.#nodes.findIndex((node) => node.entryId === firstKept);
    // Nothing lies before the root. Before the first entry of an earlier compaction, the wanted entry may still follow.
    this.#isComplete = kept >= 0 || (this.#isComplete && this.#wanted === null);
    if (!this.#isComplete) return;
    this.#dropFront(
      kept >= 0
        ? kept
        : Math.max(
            0,
            this.#nodes.findIndex((node) => node.entryId === id),
          ),
    );
  }

  #dropFront(count: number): void {
    if (count === 0) return;
    const dropped = this.#nodes.splice(0, count);
    this.#wanted = this.#nodes[0]?.parentId ?? null;
    for (const node of dropped) {
      this.#ids.delete(node.entryId);
      this.#count(node, -1);
    }
    const items = itemsOf(dropped).length;
    this.#moveStart(Math.max(this.#start, items));
    this.#items.splice(0, items);
    this.#start -= items;
  }

  #removeLast(node: BranchNode): void {
    this.#ids.delete(node.entryId);
    this.#count(node, -1);
    if (!node.hasMessage()) return;
    this.#items.pop();
    if (this.#items.length < this.#start) this.#start = this.#items.length;
    else this.#total -= node.tokens;
  }

  #noteRefused({ entry }: EntryLink): void {
    const refused = entry && refusedThinkingIn(entry);
    if (!refused) return;
    const until = Math.max(refused.until, this.#refusedThinking?.[refused.model] ?? 0);
    this.#refusedThinking = { ...this.#refusedThinking, [refused.model]: until };
  }

  #count(node: BranchNode, sign: 1 | -1): void {
    this.#loaded += sign * node.tokens;
    if (node.isTurn) this.#turns += sign;
  }
}

function toCompaction(entry: TranscriptEntry & { type: "compaction" }): Compaction {
  const { id, summary, firstKeptEntryId } = entry;
  return { id, summary, firstKept: firstKeptEntryId, tokens: estimateTextTokens(summary) };
}

const itemsOf = (nodes: readonly BranchNode[]): MessageNode[] => nodes.filter((node) => node.hasMessage());

/** The node of an entry that the model reads. */
type MessageNode = BranchNode & { readonly message: ChatMessage };

/**
 * An entry of a branch in memory. All open windows have as many of these as messages, so each is one object without
 * parts of its own: of an ordinary message it keeps the message and the time, and makes the entry again for the few
 * callers that ask for it.
 */
class BranchNode {
  readonly entryId: string;
  readonly parentId: string | null;
  /** Byte of the entry's line. */
  readonly offset: number;
  readonly message: ChatMessage | undefined;
  /** 0 without a message. */
  readonly tokens: number;
  /** A window may begin here. */
  readonly isTurn: boolean;
  /** The entry, or the time of one that consists of nothing but its message. */
  readonly #rest: TranscriptEntry | number | undefined;

  constructor({ id, parentId, entry }: EntryLink, offset: number) {
    const message = entry && messageOf(entry);
    this.entryId = id;
    this.parentId = parentId;
    this.offset = offset;
    this.message = message && withoutSpareRoom(message);
    this.tokens = message ? estimateInRequest(message) : 0;
    this.isTurn = entry?.type === "message" && message !== undefined && beginsTurn(message);
    this.#rest = entry && (timeOf(entry) ?? entry);
  }

  hasMessage(): this is MessageNode {
    return this.message !== undefined;
  }

  /** Undefined where the entry cannot be read, or is of a kind that only another program knows. */
  get entry(): TranscriptEntry | undefined {
    const { entryId: id, parentId, message } = this;
    if (typeof this.#rest !== "number" || !message) return typeof this.#rest === "number" ? undefined : this.#rest;
    return { id, parentId, timestamp: new Date(this.#rest).toISOString(), type: "message", message };
  }
}

/** The fields of an entry that consists of nothing but its message. */
const FIELDS = 5;

/** Undefined when the entry says more than its place, its time and its message. */
function timeOf(entry: TranscriptEntry): number | undefined {
  if (entry.type !== "message" || Object.keys(entry).length !== FIELDS) return undefined;
  const at = Date.parse(entry.timestamp);
  return Number.isFinite(at) && new Date(at).toISOString() === entry.timestamp ? at : undefined;
}

/** The parts of an answer were added one by one, to an array with room for many more. */
const withoutSpareRoom = (message: ChatMessage): ChatMessage =>
  message.role === "assistant" ? { ...message, content: message.content.slice() } : message;
