import { createBlockChunker } from "../../reply/chunker.ts";
import { createCoalescer, type Coalescer } from "../../reply/coalesce.ts";
import type { Clock } from "../../types/clock.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { ChatStyle } from "../ports.ts";

export interface BlockFeedOptions {
  readonly streaming: AgentSettings["streaming"];
  /** Blocks are sent as they are cut when unset. */
  readonly coalesce?: ChatStyle["coalesce"];
  /** Each paragraph is a block. */
  readonly byParagraph?: boolean;
  readonly clock: Clock;
  /** The letters of each block that was planned before a restart, in order. */
  readonly earlier: readonly string[];
}

/** Cuts an answer into blocks while it is streamed. Each call returns the blocks to be sent now. */
export interface BlockFeed {
  push(delta: string): readonly string[];
  /** Time has passed. */
  tick(): readonly string[];
  /** The text has ended: returns everything that is left. */
  flush(): readonly string[];
  /** Drops what was not returned yet: its call broke off. */
  drop(): void;
}

export function createBlockFeed({ streaming, coalesce, byParagraph, clock, earlier }: BlockFeedOptions): BlockFeed {
  const chunker = createBlockChunker({ ...streaming.chunk, flushOnParagraph: byParagraph === true });
  const joined = byParagraph === true ? undefined : coalesce;
  const joining = joined && new Joining(createCoalescer({ ...joined, clock }), earlier);
  const holds = streaming.breakAt === "message_end";
  let held: string[] = [];
  const give = (blocks: readonly string[]) => (joining ? blocks.flatMap((block) => joining.push(block)) : blocks);
  return {
    push(delta) {
      const blocks = chunker.push(delta);
      if (!holds) return give(blocks);
      held.push(...blocks);
      return [];
    },
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
