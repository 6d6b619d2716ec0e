import { timestamp } from "../../../prompt/timestamp.ts";
import { plainMarkdown } from "../../../utils/text/plain-markdown.ts";
import { shorten } from "../../../utils/text/shorten.ts";
import { Secret } from "../../../utils/secrets/secret.ts";
import type { StoryStep } from "../../../types/answers/messages.ts";
import type { StoryAsk } from "../../../types/desks.ts";
import type { CommandAnswer, CommandContext } from "../kit/command.ts";

/** Messages before the last one that can be asked about by their number. */
const MOST_BACK = 50;
/** The most UTF-16 units of one step. */
const MOST_CHARS = 500;

/**
 * Shows what happened to the last message of the conversation, to an earlier one, or to the message that is answered or
 * named.
 */
export async function tellWhy({ args, message, key, isOwner, ports }: CommandContext): Promise<CommandAnswer> {
  const desk = ports.program.desks.get("stories");
  if (!desk) return { text: "This gateway keeps no record of its messages." };
  const which = whichOf(args.trim(), message.replyTo?.id);
  const stories = await desk.of({ session: key, before: message, which, isOwner });
  if (stories.length === 0)
    return {
      text: "id" in which ? "This conversation has no message with that id." : "There is no such message here.",
    };
  const settings = ports.settings();
  const zone = settings.agents.get(settings.agentOf(key))?.timezone ?? "UTC";
  return { text: stories.map((steps) => storyText(steps, zone)).join("\n\n") };
}

/**
 * The message that the word after `/why` means: a small number counts messages back; any other word, or the text after
 * `#`, is an id. Without a word, the message that is answered, else the last one.
 */
function whichOf(word: string, answered: string | undefined): StoryAsk["which"] {
  if (word === "") return answered === undefined ? { back: 0 } : { id: answered };
  const back = /^\d{1,2}$/.test(word) ? Number(word) : 0;
  return back >= 1 && back <= MOST_BACK ? { back } : { id: word.replace(/^#/, "") };
}

function storyText(steps: readonly StoryStep[], zone: string): string {
  const lines = steps.map(({ at, step, text }) => {
    const time = at === undefined ? "" : `${timestamp(at, zone).slice(11)} `;
    const line = shorten(Secret.mask(text).replaceAll(/\s+/g, " "), MOST_CHARS, () => " … ");
    return `${time}**${step}** ${plainMarkdown(line)}`;
  });
  const [first] = steps;
  const day = first?.at === undefined ? [] : [timestamp(first.at, zone).slice(0, 10)];
  return [...day, ...lines].join("\n");
}
