import { dirname, join } from "node:path";
import { LineFile } from "../../../sessions/transcript/line-file.ts";
import { makePrivateDir, removeUnfinished, writeAtomic } from "../../../store/disk.ts";
import { isFields } from "../../../utils/fields.ts";
import { readTextFile } from "../../../store/text-file.ts";

/** What became of an item that was tried. */
export interface ItemOutcome {
  /** Why it stays behind after all. The next import tries it again. */
  readonly left?: string;
  /** Where it is now: a path below the state directory, a session key, a name. */
  readonly made?: string;
  /** For a person: lines that could not be read, values without a meaning here. No secrets. */
  readonly notes?: readonly string[];
  /** For the item's next `take`: how its copy was left, so that a changed copy is told from an unchanged one. */
  readonly mark?: string;
}

/** The record of an item that was taken, or that was left when it was tried. */
export interface ItemReceipt extends ItemOutcome {
  /** Id of the item's kind. */
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  readonly version: string;
  /** ISO 8601. */
  readonly at: string;
  /** The directory that it came from. */
  readonly from: string;
}

const fileIn = (stateDir: string): string => join(stateDir, "state", "imports.jsonl");

/** The receipts of a state directory, the latest of each item. Lines that a kill has cut off are passed over. */
export async function readReceipts(stateDir: string): Promise<ReadonlyMap<string, ItemReceipt>> {
  const text = (await readTextFile(fileIn(stateDir))) ?? "";
  return new Map(text.split("\n").flatMap((line) => receiptIn(line).map((one) => [receiptName(one), one] as const)));
}

/** The name of an item among all kinds. */
export const receiptName = ({ kind, id }: Pick<ItemReceipt, "kind" | "id">): string => `${kind}/${id}`;

/** The file of the receipts, open for more. */
export interface ReceiptBook {
  /** Resolves when the receipt is on disk. Those of one moment share a sync. */
  add(receipt: ItemReceipt): Promise<void>;
  close(): Promise<void>;
}

/** Opens the file for the holder of the state directory's lock, and writes it anew without outdated and broken lines. */
export async function openReceipts(stateDir: string, known: ReadonlyMap<string, ItemReceipt>): Promise<ReceiptBook> {
  const path = fileIn(stateDir);
  await makePrivateDir(dirname(path));
  await removeUnfinished(path);
  if (known.size > 0) await writeAtomic(path, [...known.values()].map((one) => `${JSON.stringify(one)}\n`).join(""));
  const file = await LineFile.open(path, "");
  return {
    add: (receipt) => file.append(JSON.stringify(receipt), true).done,
    close: () => file.close(),
  };
}

function receiptIn(line: string): readonly ItemReceipt[] {
  try {
    const value: unknown = JSON.parse(line);
    return isReceipt(value) ? [value] : [];
  } catch {
    // The end of the file, after a kill: the item is tried again.
    return [];
  }
}

const isReceipt = (value: unknown): value is ItemReceipt =>
  isFields(value) && ["kind", "id", "name", "version", "at", "from"].every((name) => typeof value[name] === "string");
