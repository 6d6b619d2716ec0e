import type { Session } from "../../types/session.ts";
import type { CommandAnswer, CommandContext } from "./command.ts";
import { storeSetting } from "./store-setting.ts";

const LEVELS = ["off", "on"] as const;

/** Shows or sets whether this chat sees the model's thoughts, before each answer. */
export async function setReasoning(context: CommandContext, session?: Session): Promise<CommandAnswer> {
  const word = context.args.trim().toLowerCase();
  const level = LEVELS.find((name) => name === word);
  if (word === "stream")
    return { text: "Thoughts cannot be shown while they are thought. Use on: they come before each answer." };
  if (word !== "" && word !== "default" && !level)
    return { text: `"${context.args}" is not a level. The levels are: ${LEVELS.join(", ")}.` };
  if (word !== "") await storeSetting(context, { reasoningLevel: level }, session);
  const isOn = context.ports.sessions.peek(context.key)?.reasoningLevel === "on";
  return {
    text: isOn ? "Reasoning: on. Thoughts are shown before each answer." : "Reasoning: off. Thoughts are not shown.",
  };
}
