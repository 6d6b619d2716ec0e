import type { OpenJournal } from "../../../store/journal/journal.ts";
import type { AgentId } from "../../../types/ids.ts";
import type { LoadOptions } from "../../config/load.ts";
import type { StatePaths } from "../../config/paths.ts";
import type { ItemOutcome, ItemReceipt } from "./receipts.ts";
import type { ImportSource } from "./source.ts";

/** The state directory that takes things over. Planning only reads it. */
export interface Target {
  readonly paths: StatePaths;
  /** How its config is read. */
  readonly load: LoadOptions;
  /** The agent whose session keys have no prefix, once the import is done. */
  readonly defaultAgent: AgentId;
  /** What earlier imports did, by `receiptName`. */
  readonly receipts: ReadonlyMap<string, ItemReceipt>;
}

/** The target while its lock is held. */
export interface OpenTarget extends Target {
  readonly journal: OpenJournal;
}

/** A thing of the source that is taken as a whole. */
export interface Item {
  /** The item's name in the receipts. It stays when the source is moved. */
  readonly id: string;
  /** The item's name for people. No secrets. */
  readonly name: string;
  /** Differs when the item has changed in the source. */
  readonly version: string;
  /** What a person should know before it is taken. */
  readonly notes?: readonly string[];
  /** Why it stays behind, where its planning has shown it: it is not tried then. */
  readonly left?: string;
  /**
   * Takes the item. What it made is durable when it resolves, and a process that ends in between leaves nothing that the next call
   * does not replace. `before`: the receipt of an earlier version of the item. A `SourceFault`, also as the
   * cause of another error, is why the item is left; any other error is its failure, but DISK_FULL and DISK_WRITE end the import.
   */
  take(to: OpenTarget, before: ItemReceipt | undefined): Promise<ItemOutcome>;
}

/** Something that stays behind. */
export interface Left {
  readonly name: string;
  readonly why: string;
}

export interface KindPlan {
  readonly items: readonly Item[];
  readonly left: readonly Left[];
}

/** A row of `IMPORT_KINDS`. */
export interface ImportKind {
  readonly id: string;
  /** Its heading for people, in the plural. */
  readonly title: string;
  /** Items that are taken at the same time; one when unset. */
  readonly atOnce?: number;
  /** Finds what there is. Writes nothing, in the source or in the target. */
  plan(from: ImportSource, to: Target): Promise<KindPlan>;
}
