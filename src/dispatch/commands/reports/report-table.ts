import type { Command } from "../command.ts";
import { MOST_TURNS, showHistory } from "./history.ts";

/** The commands that show what there is of a conversation. */
export const REPORT_COMMANDS: readonly Command[] = [
  {
    name: "history",
    who: "conversation",
    help: `The last turns of this conversation: /history, or /history and their number, at most ${MOST_TURNS}.`,
    at: "apart",
    run: showHistory,
  },
];
