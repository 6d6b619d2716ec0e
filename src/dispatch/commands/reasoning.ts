import type { Session } from "../../types/session.ts";
import { REASONING_LEVELS, reasoningLevelOf } from "../../types/run/reasoning-level.ts";
import type { CommandAnswer, CommandContext } from "./kit/command.ts";
import { storeLevel } from "./kit/store-setting.ts";

const TEXTS = {
  off: "Reasoning: off. Thoughts are not shown.",
  on: "Reasoning: on. Thoughts are shown before each answer.",
  stream: "Reasoning: stream. Thoughts are shown while they come, until the answer replaces them.",
};

/** Shows or sets whether this chat sees the model's thoughts, before each answer or while they come. */
export async function setReasoning(context: CommandContext, session?: Session): Promise<CommandAnswer> {
  const refused = await storeLevel(
    context,
    "reasoningLevel",
    { levels: REASONING_LEVELS, levelOf: reasoningLevelOf },
    session,
  );
  if (refused !== undefined) return { text: refused };
  return { text: TEXTS[reasoningLevelOf(context.ports.sessions.peek(context.key)?.reasoningLevel) ?? "off"] };
}
