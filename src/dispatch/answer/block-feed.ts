import { createBlockChunker } from "../../reply/block-chunker.ts";
import { createCoalescer, type Coalescer } from "../../reply/coalesce.ts";
import type { Clock } from "../../types/clock.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { ChatStyle } from "../settings.ts";

export interface BlockFeedOptions {
  readonly streaming: AgentSettings["streaming"];
  /** How small blocks are joined; blocks are sent as they are cut when unset. */
  readonly coalesce?: ChatStyle["coalesce"];
  /** Whether each paragraph is a block. */
  readonly byParagraph?: boolean;
  readonly clock: Clock;
  /** The letters of each block that was planned before a restart, in order. */
  readonly earlier: readonly string[];
}

/** Cuts an answer into blocks while it is streamed. Each call returns the blocks to be sent now. */
export interface BlockFeed {
  push(delta: string): readonly string[];
  /** The time at which waiting blocks are due, in the clock's milliseconds; undefined when no block waits. */
  due(): number | undefined;
  /** Returns the blocks that are due. */
  tick(): readonly string[];
  /** Returns the blocks that are left. Called when the text has ended. */
  flush(): readonly string[];
  /** Drops the text that was not returned yet. Called when the call that wrote the text broke off. */
  drop(): void;
  /**
   * Whether a block may end with this delta, the last of `text`: at the end of a line or a sentence in the delta, or
   * right before the delta, because blanks are passed on with the word after them. Blocks that end because they are too
   * long are not meant.
   */
  mayEndBlock(delta: string, text: string): boolean;
}

const LINE_ENDS = /\n/g;
const SENTENCE_ENDS = /[.!?…]["')\]*_]*[ \t]|[。！？\n]/g;
/**
 * UTF-16 units of the text before a delta that are searched too: the end of a sentence is a full stop, perhaps a
 * closing quotation mark or bracket, and a space, and the delta may begin in the middle of these characters.
 */
const BEFORE_DELTA = 8;

export function createBlockFeed({ streaming, coalesce, byParagraph, clock, earlier }: BlockFeedOptions): BlockFeed {
  const chunker = createBlockChunker({ ...streaming.chunk, flushOnParagraph: byParagraph === true });
  const joined = byParagraph === true ? undefined : coalesce;
  const joining = joined && new Joining(createCoalescer({ ...joined, clock }), earlier);
  const holds = streaming.breakAt === "message_end";
  const ends = streaming.chunk.breakPreference === "sentence" ? SENTENCE_ENDS : LINE_ENDS;
  let held: string[] = [];
  const give = (blocks: readonly string[]) => (joining ? blocks.flatMap((block) => joining.push(block)) : blocks);
  return {
    push(delta) {
      const blocks = chunker.push(delta);
      if (!holds) return give(blocks);
      held.push(...blocks);
      return [];
    },
    due: () => joining?.due(),
    tick: () => joining?.tick() ?? [],
    flush() {
      const blocks = [...held, ...chunker.flush()];
      held = [];
      return [...give(blocks), ...(joining?.flush() ?? [])];
    },
    drop() {
      chunker.flush();
      joining?.flush();
      held = [];
    },
    mayEndBlock(delta, text) {
      if (holds) return false;
      const tail = text.slice(-delta.length - BEFORE_DELTA);
      const before = tail.length - delta.length;
      return [...tail.matchAll(ends)].some(({ 0: signs, index }) => index + signs.length >= before);
    },
  };
}

/** Joins small blocks. Blocks planned before a restart are joined as they were then, so that they are recognised. */
class Joining {
  readonly #coalescer: Coalescer;
  #earlier: readonly string[];
  #pending = "";

  constructor(coalescer: Coalescer, earlier: readonly string[]) {
    this.#coalescer = coalescer;
    this.#earlier = earlier;
  }

  push(block: string): readonly string[] {
    const [next, ...rest] = this.#earlier;
    if (next === undefined) return this.#coalescer.push(block);
    this.#pending = this.#pending === "" ? block : `${this.#pending}\n\n${block}`;
    const words = lettersOf(this.#pending);
    if (words !== next && next.startsWith(words)) return [];
    this.#earlier = words === next ? rest : [];
    return this.#takePending();
  }

  due(): number | undefined {
    return this.#coalescer.due();
  }

  tick(): readonly string[] {
    return this.#coalescer.tick();
  }

  flush(): readonly string[] {
    return [...this.#takePending(), ...this.#coalescer.flush()];
  }

  #takePending(): readonly string[] {
    const pending = this.#pending;
    this.#pending = "";
    return pending === "" ? [] : [pending];
  }
}

/** The letters and digits of a text, for comparisons: a planned chunk has the platform's own formatting. */
export const lettersOf = (text: string): string => text.replace(/[^\p{L}\p{N}]/gu, "");
