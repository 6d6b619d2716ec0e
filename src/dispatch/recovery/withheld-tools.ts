import { callsOf, isInterrupted } from "../../history/parts.ts";
import { unbegunCalls } from "../../harness/tools/tools.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { Session } from "../../types/session.ts";
import { withRun } from "../../tools/lazy-tool.ts";
import type { Tool } from "../../types/run/tool.ts";

/** Processes that have tried a message: the first, and one more after that process ended during it. */
const TRIED_TWICE = 2;

/**
 * The names of the tools that a turn may no longer use: the process ended twice during this message while calls of these tools
 * were running. Empty for every other turn.
 */
export async function withheldTools(
  session: Pick<Session, "after">,
  turnId: string,
  row: InboxRow | undefined,
): Promise<ReadonlySet<string>> {
  if ((row?.attempts ?? 0) < TRIED_TWICE) return new Set();
  const entries = (await session.after(turnId)) ?? [];
  const messages = entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
  const unbegun = unbegunCalls(entries);
  const seen = new Set(
    messages.flatMap((one) => (one.role === "toolResult" && !isInterrupted(one) ? [one.toolCallId] : [])),
  );
  const open = messages.flatMap(callsOf).filter(({ id }) => !seen.has(id) && !unbegun.has(id));
  return new Set(open.map(({ name }) => name));
}

/** The same tools, but the withheld ones only answer why they are not run. */
export const withoutWithheld = (tools: readonly Tool[], names: ReadonlySet<string>): readonly Tool[] =>
  names.size === 0 ? tools : tools.map((tool) => (names.has(tool.name) ? withheld(tool) : tool));

const withheld = (tool: Tool): Tool =>
  withRun(tool, async () => {
    throw new Error(
      `${tool.name} is not run again for this message: the gateway ended twice while it ran. Answer without it, or say what is missing.`,
    );
  });
