import type { TurnVersions } from "./state.ts";
import { turnActsOf, type TurnAct } from "./turn-acts.ts";
import { type DisplayedTurn, sameTurns } from "./view.ts";

/** A turn of the list. It keeps its key when it becomes part of the transcript, so that opened details remain open. */
export interface TurnRow {
  readonly key: string;
  readonly turn: DisplayedTurn;
  readonly acts: readonly TurnAct[];
  readonly versions: TurnVersions | undefined;
}

/** Consecutive turns that are drawn together. */
export type RowBlock = readonly TurnRow[];

/** What this client may do with turns: the methods of the gateway, and the versions by message. */
interface Offered {
  readonly methods: readonly string[];
  readonly versions: ReadonlyMap<string, TurnVersions>;
}

/** The most turns of a block. */
const MOST = 12;

/**
 * The turns of a conversation in blocks. The blocks before the first turn that changed remain the same objects, so that an arriving
 * message costs the same however many came before it.
 */
export class TurnRows {
  #shown: readonly DisplayedTurn[] = [];
  #offered: Offered | undefined;
  #blocks: readonly RowBlock[] = [];
  readonly #keys = new Set<string>();

  /** The blocks of the turns that are shown now. */
  blocksOf(shown: readonly DisplayedTurn[], { methods, versions }: Offered): readonly RowBlock[] {
    const isOfferedSame = methods === this.#offered?.methods && versions === this.#offered.versions;
    const unchanged = isOfferedSame ? sameTurns(shown, this.#shown) : 0;
    if (isOfferedSame && unchanged === shown.length && unchanged === this.#shown.length) return this.#blocks;
    // What is offered for a turn may depend on its being the last one.
    const { blocks, rest } = cut(this.#blocks, Math.min(unchanged, this.#shown.length - 1));
    for (const { key } of rest.flat()) this.#keys.delete(key);
    const from = blocks.reduce((sum, { length }) => sum + length, 0);
    const rows = this.#rows(shown, from, { methods, versions });
    this.#blocks = [...blocks, ...inBlocks(rows, new Set(rest.map(([first]) => first?.key ?? "")))];
    this.#shown = shown;
    this.#offered = { methods, versions };
    return this.#blocks;
  }

  #rows(shown: readonly DisplayedTurn[], from: number, { methods, versions }: Offered): readonly TurnRow[] {
    const acts = turnActsOf(shown, methods, from);
    return shown.slice(from).map((turn, index) => {
      const byRun = `${turn.runIds[0]}:${turn.role}`;
      const key = turn.runIds.length === 0 || this.#keys.has(byRun) ? turn.id : byRun;
      this.#keys.add(key);
      return { key, turn, acts: acts[index] ?? [], versions: versions.get(turn.messageIds[0] ?? "") };
    });
  }
}

/** The blocks that end within the first `kept` turns, and those after them. */
function cut(blocks: readonly RowBlock[], kept: number): { blocks: readonly RowBlock[]; rest: readonly RowBlock[] } {
  let turns = 0;
  const end = blocks.findIndex(({ length }) => (turns += length) > kept);
  return end === -1 ? { blocks, rest: [] } : { blocks: blocks.slice(0, end), rest: blocks.slice(end) };
}

/** A block begins where one began before, so that what comes before or after it leaves it as it is. */
function inBlocks(rows: readonly TurnRow[], starts: ReadonlySet<string>): readonly RowBlock[] {
  const blocks: TurnRow[][] = [];
  for (const row of rows) {
    const last = blocks.at(-1);
    if (last === undefined || last.length >= MOST || starts.has(row.key)) blocks.push([row]);
    else last.push(row);
  }
  return blocks;
}
