import type { Clock } from "../types/clock.ts";
import type { Log } from "../types/log.ts";
import { usedRows, withRows, type RowUse } from "../tools/exec/rules/edit-rows.ts";
import { background } from "../utils/background.ts";
import { editApprovals } from "./exec-approvals-edit.ts";

/** Milliseconds between two writes. Uses in between are lost when the process is killed. */
const WRITE_EVERY_MS = 5000;
/** Milliseconds to wait for another program that writes the file. */
const PATIENCE_MS = 2000;
const MOST_USES = 500;

/** The block of the document that has the row, and its use. */
export interface BlockUse {
  readonly block: string;
  readonly use: RowUse;
}

/** Notes in `exec-approvals.json` when rows were last used, some seconds later, so that no command waits for the disk. */
export class ApprovalUses {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #log: Log;
  #waiting: BlockUse[] = [];
  #cancel: (() => void) | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(path: string, clock: Clock, log: Log) {
    this.#path = path;
    this.#clock = clock;
    this.#log = log;
  }

  /** Returns at once. Never throws. */
  note(uses: readonly BlockUse[]): void {
    if (uses.length === 0) return;
    this.#waiting.push(...uses.slice(0, MOST_USES - this.#waiting.length));
    this.#cancel ??= this.#clock.after(WRITE_EVERY_MS, () => background("last uses of approvals", this.flush()));
  }

  /** Writes what waits. Never rejects: a use that is not noted changes nothing else. */
  async flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    const uses = this.#waiting;
    this.#waiting = [];
    if (uses.length > 0) this.#writing = this.#writing.then(() => this.#write(uses));
    await this.#writing;
  }

  async #write(uses: readonly BlockUse[]): Promise<void> {
    try {
      await editApprovals(this.#path, (document) => noted(document, uses), PATIENCE_MS);
    } catch (error) {
      this.#log.warn("last uses of approvals not written", { error });
    }
  }
}

function noted(document: Parameters<Parameters<typeof editApprovals>[1]>[0], uses: readonly BlockUse[]) {
  const blocks = [...new Set(uses.map(({ block }) => block))];
  return blocks.reduce((now, block) => {
    const own = uses.filter((one) => one.block === block).map(({ use }) => use);
    return withRows(now, block, usedRows(own));
  }, document);
}
