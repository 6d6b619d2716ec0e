import { ELEVATED_LEVELS, elevatedLevelOf, type ElevatedLevel } from "../../types/run/exec-wish.ts";
import type { CommandAnswer, CommandContext } from "./kit/command.ts";
import { storeLevel } from "./kit/store-setting.ts";

const MEANS: Readonly<Record<ElevatedLevel, string>> = {
  off: "Commands do not leave the sandbox.",
  on: "Commands run on the machine, outside the sandbox, with the approvals of the config.",
  ask: "Commands run on the machine, outside the sandbox, and each is asked about.",
  full: "Commands run on the machine, outside the sandbox, without approvals when an owner writes.",
};

const UNSET = "Commands stay in the sandbox, if there is one. I may ask to run one outside of it.";

/** Shows or sets how far commands of this conversation leave the sandbox. Holds from the next turn on, for whoever may set it. */
export async function setElevated(context: CommandContext): Promise<CommandAnswer> {
  const refused = await storeLevel(context, "elevatedLevel", { levels: ELEVATED_LEVELS, levelOf: elevatedLevelOf });
  if (refused !== undefined) return { text: refused };
  const { key, ports } = context;
  const own = elevatedLevelOf(ports.sessions.peek(key)?.elevatedLevel);
  const settings = ports.settings();
  const level = own ?? settings.agents.get(settings.agentOf(key))?.elevated;
  if (level === undefined) return { text: `Elevated: not set. ${UNSET}` };
  return { text: `Elevated: ${level}${own === undefined ? " (as configured)" : ""}. ${MEANS[level]}` };
}
