import { VERBOSE_LEVELS, verboseLevelOf, type VerboseLevel } from "../../types/run/verbose.ts";
import type { Session } from "../../types/session.ts";
import type { CommandAnswer, CommandContext } from "./kit/command.ts";
import { storeLevel } from "./kit/store-setting.ts";

const SHOWN: Readonly<Record<VerboseLevel, string>> = {
  off: "Tools are used without a word.",
  on: "A line is shown for each tool call, and why one fails.",
  full: "Each tool call is shown, with the beginning of its result.",
};

/** Shows or sets what this chat sees of tool calls. Holds at once, also for the turn that is running. */
export async function setVerbose(context: CommandContext, session?: Session): Promise<CommandAnswer> {
  const refused = await storeLevel(
    context,
    "verboseLevel",
    { levels: VERBOSE_LEVELS, levelOf: verboseLevelOf },
    session,
  );
  if (refused !== undefined) return { text: refused };
  const { key, ports } = context;
  const settings = ports.settings();
  const own = verboseLevelOf(ports.storage.sessions.peek(key)?.verboseLevel);
  const now = own ?? settings.agents.get(settings.agentOf(key))?.verbose ?? "off";
  return { text: `Verbose: ${now} (${own ? "set here" : "as configured"}). ${SHOWN[now]}` };
}
