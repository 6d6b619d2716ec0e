import type { Session } from "../../types/session.ts";
import type { CommandAnswer, CommandContext } from "./command.ts";
import { storeLevel } from "./store-setting.ts";

const LEVELS = ["off", "on"] as const;
const levelOf = (word: string) => LEVELS.find((level) => level === word);

/** Shows or sets whether this chat sees the model's thoughts, before each answer. */
export async function setReasoning(context: CommandContext, session?: Session): Promise<CommandAnswer> {
  if (context.args.trim().toLowerCase() === "stream")
    return { text: "Thoughts cannot be shown while they are thought. Use on: they come before each answer." };
  const refused = await storeLevel(context, "reasoningLevel", { levels: LEVELS, levelOf }, session);
  if (refused !== undefined) return { text: refused };
  const isOn = context.ports.sessions.peek(context.key)?.reasoningLevel === "on";
  return {
    text: isOn ? "Reasoning: on. Thoughts are shown before each answer." : "Reasoning: off. Thoughts are not shown.",
  };
}
