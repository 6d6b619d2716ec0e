import type { RunRecord } from "../../../types/journal.ts";
import { modelName } from "../../../types/run/model.ts";
import type { Receipt } from "../../../types/run/run.ts";

/** The result of a run in one line. `isOwner`: with the provider's own text of a failure. */
export function lastRunLine({ receipt, result }: RunRecord, isOwner: boolean): string {
  const { input, output, cacheRead, cacheWrite, cost } = receipt.usage;
  const read = (input + cacheRead + cacheWrite).toLocaleString("en");
  const tokens = `${read} tokens in, ${output.toLocaleString("en")} out, $${cost.total.toFixed(4)}`;
  return `Last run: ${answeredBy(receipt)}, ${outcome(result, receipt, isOwner)}, ${tokens}${elevatedIn(receipt)}`;
}

function elevatedIn({ tools = [] }: Receipt): string {
  const calls = tools.reduce((sum, { elevated = 0 }) => sum + elevated, 0);
  if (calls === 0) return "";
  return calls === 1 ? ", 1 command outside the sandbox" : `, ${calls} commands outside the sandbox`;
}

function answeredBy({ model, candidates }: Receipt): string {
  const [asked] = candidates ?? [];
  return asked && modelName(asked) !== modelName(model)
    ? `${modelName(model)} for ${modelName(asked)}`
    : modelName(model);
}

/** The journal's `failed:rate_limit` as text. */
function outcome(result: string, { tries }: Receipt, isOwner: boolean): string {
  const [, kind] = /^failed:\s*(.*)$/.exec(result) ?? [];
  if (kind === undefined) return result;
  const words = isOwner ? tries?.at(-1)?.message : undefined;
  return `failed (${kind.replaceAll("_", " ")}${words === undefined ? "" : `: ${words}`})`;
}

/**
 * A line when the run had to work without the configured context engine; no line otherwise. `isOwner`: with the reason.
 */
export function engineLines({ receipt }: RunRecord, isOwner: boolean): readonly string[] {
  const { engine = "", engineDegraded } = receipt;
  if (engineDegraded === undefined) return [];
  return [isOwner ? engineDegraded : `The context engine ${engine} was not used in the last run.`];
}
