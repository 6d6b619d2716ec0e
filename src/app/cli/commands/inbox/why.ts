import { messageAnswers, type StoryStep } from "../../../../types/answers/messages.ts";
import { why } from "../../../messages/why.ts";
import { writeJson, type Io } from "../../io.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { dim } from "../../table.ts";
import { askMessages } from "../message/message-source.ts";
import { localTime } from "../runs/run-figures.ts";

/** Shows what happened to a message, step by step. Throws NOT_FOUND, and USAGE when its id fits several. */
export async function whyMessage(io: Io, id: string, flags: { channel?: string; json?: boolean }): Promise<number> {
  const { channel } = flags;
  const params = { id, ...(channel !== undefined && { channel }) };
  const { stories } = await askMessages(io, {
    method: "messages.why",
    params,
    shape: messageAnswers.why,
    here: (journal) => why(journal, params),
  });
  if (flags.json === true) writeJson(io, { stories });
  else io.out(stories.map(({ steps }) => storyText(io, steps)).join("\n"));
  return 0;
}

/** Names of steps are padded to the longest. */
const NAME_WIDTH = 9;
const NO_TIME = " ".repeat(localTime(0).length);

function storyText(io: Io, steps: readonly StoryStep[]): string {
  const lines = steps.map(({ at, step, text }) => {
    const time = at === undefined ? NO_TIME : localTime(at);
    return `${dim(io, `${time}  ${step.padEnd(NAME_WIDTH)}`)}  ${withoutTerminalControls(text).replaceAll(/\s+/g, " ")}\n`;
  });
  return lines.join("");
}
