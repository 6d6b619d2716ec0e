import { asRefusal } from "../../../types/method.ts";
import { writeConfigValues } from "../../config/edit/write.ts";
import { loadOptionsFor } from "../../plugins/load-options.ts";
import type { Parts } from "../parts/parts.ts";

/** Writes values into the config file; its watcher applies them. Throws INVALID_REQUEST with the fix for a value that does not fit. */
export async function writeByClient(
  edits: readonly { readonly path: string[]; readonly value: unknown }[],
  { live }: Pick<Parts, "live">,
): Promise<void> {
  if (edits.length === 0) return;
  try {
    await writeConfigValues(await loadOptionsFor(live.contributions, live.paths), edits);
  } catch (error) {
    throw asRefusal(error);
  }
}
