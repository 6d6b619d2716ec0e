import { callsOf, isInterrupted } from "../../history/parts.ts";
import { unbegunCalls } from "../../harness/tools/tools.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { Session } from "../../types/session.ts";
import type { Tool } from "../../types/run/tool.ts";

/** Starts that have tried a message: its turn, and once more after the process ended over it. */
const TRIED_AGAIN = 2;

/**
 * The names of the tools that a turn may not use any more: the process has ended twice over this message, and calls of
 * these were under way. None for every other turn.
 */
export async function withheldTools(
  session: Pick<Session, "after">,
  turnId: string,
  row: InboxRow | undefined,
): Promise<ReadonlySet<string>> {
  if ((row?.attempts ?? 0) < TRIED_AGAIN) return new Set();
  const entries = (await session.after(turnId)) ?? [];
  const messages = entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
  const unbegun = unbegunCalls(entries);
  const seen = new Set(
    messages.flatMap((one) => (one.role === "toolResult" && !isInterrupted(one) ? [one.toolCallId] : [])),
  );
  const open = messages.flatMap(callsOf).filter(({ id }) => !seen.has(id) && !unbegun.has(id));
  return new Set(open.map(({ name }) => name));
}

/** The same tools, of which the withheld ones say why they are not run. */
export const withoutWithheld = (tools: readonly Tool[], names: ReadonlySet<string>): readonly Tool[] =>
  names.size === 0 ? tools : tools.map((tool) => (names.has(tool.name) ? withheld(tool) : tool));

const withheld = (tool: Tool): Tool => ({
  ...tool,
  async run() {
    throw new Error(
      `${tool.name} is not run again for this message: the gateway ended twice while it ran. Answer without it, or say what is missing.`,
    );
  },
});
