import type { CommandAnswer, CommandContext } from "./kit/command.ts";
import { storeSetting } from "./kit/store-setting.ts";

const SHOWN = {
  always: "I see every message of this group, and answer when I have something to say.",
  mention: "I see what is said to me here: messages that name me or reply to me.",
} as const;

const ACTIVATIONS = ["mention", "always"] as const;

/** Shows or sets which messages of a group the agent gets, in place of `requireMention`. Holds from the next message on. */
export async function setActivation(context: CommandContext): Promise<CommandAnswer> {
  const { key, message, ports } = context;
  if (message.from.chat.kind !== "group") return { text: "Only a group has an activation. Here I see every message." };
  const word = context.args.trim().toLowerCase();
  const wanted = ACTIVATIONS.find((name) => name === word);
  if (word !== "" && word !== "default" && !wanted)
    return { text: `"${context.args}" is no activation. Use ${ACTIVATIONS.join(", ")} or default.` };
  if (word !== "") await storeSetting(context, { groupActivation: wanted });
  const now = ports.sessions.peek(key)?.groupActivation;
  return {
    text: now === undefined ? "Activation: as configured by requireMention." : `Activation: ${now}. ${SHOWN[now]}`,
  };
}
