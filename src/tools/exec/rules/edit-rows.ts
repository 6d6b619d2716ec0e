import { isFields, type Fields } from "../../../utils/fields.ts";
import type { ExecRow } from "./document.ts";

/** A row of the document, with fields that this gateway does not know. */
type RawRow = Fields;

/** The document with a change of one agent's rows; the same document when the rows stay the same. Pure. */
export function withRows<Document extends Fields>(
  document: Document,
  agent: string,
  change: (rows: readonly RawRow[]) => readonly RawRow[],
): Document {
  const agents = isFields(document["agents"]) ? document["agents"] : {};
  const block = Object.hasOwn(agents, agent) && isFields(agents[agent]) ? agents[agent] : {};
  const list: readonly unknown[] = Array.isArray(block["allowlist"]) ? block["allowlist"] : [];
  const rows = list.filter(isFields);
  const changed = change(rows);
  if (changed === rows) return document;
  return { ...document, agents: { ...agents, [agent]: { ...block, allowlist: changed } } };
}

/** Fields that identify a rule: rows with the same values are the same rule. */
type RowKey = Pick<ExecRow, "pattern" | "argPattern" | "binding">;

const isSameRule = (row: RawRow, { pattern, argPattern, binding }: RowKey): boolean =>
  row["pattern"] === pattern && row["argPattern"] === argPattern && row["binding"] === binding;

/** The rows with one more row, which replaces an existing one for the same rule. Pure. */
export const addedRow =
  (row: ExecRow) =>
  (rows: readonly RawRow[]): readonly RawRow[] => [...rows.filter((one) => !isSameRule(one, row)), row];

/** The rows without those that have this pattern or id; the same list when there are none. Pure. */
export const removedRows =
  (named: string) =>
  (rows: readonly RawRow[]): readonly RawRow[] => {
    const left = rows.filter((row) => row["pattern"] !== named && row["id"] !== named);
    return left.length === rows.length ? rows : left;
  };

/** The last use of a row. */
export interface RowUse extends Pick<ExecRow, "pattern" | "argPattern" | "binding"> {
  readonly lastUsedAt: number;
  readonly lastUsedCommand: string;
  readonly lastResolvedPath?: string;
}

/** The rows with their last uses; the same list when no row was used. Pure. */
export const usedRows =
  (uses: readonly RowUse[]) =>
  (rows: readonly RawRow[]): readonly RawRow[] => {
    const changed = rows.map((row) => {
      const use = uses.findLast((one) => isSameRule(row, one));
      return use ? { ...row, ...use } : row;
    });
    return changed.some((row, at) => row !== rows[at]) ? changed : rows;
  };
