import { QUEUE_MODES } from "../../types/queue.ts";
import { THINK_LEVELS } from "../../types/run/model.ts";
import { REASONING_LEVELS } from "../../types/run/reasoning-level.ts";
import { USAGE_LEVELS } from "../../types/run/usage-level.ts";
import { VERBOSE_LEVELS } from "../../types/run/verbose.ts";
import type { Session } from "../../types/session.ts";
import { thinkLevelOf } from "../directives/think-words.ts";
import type { Command, CommandAnswer, CommandContext } from "./kit/command.ts";
import { ELEVATED_LEVELS } from "../../types/run/exec-wish.ts";
import { setElevated } from "./elevated.ts";
import { setExec } from "./exec.ts";
import { setActivation } from "./activation.ts";
import { setQueue } from "./queue.ts";
import { setReasoning } from "./reasoning.ts";
import { setSendPolicy } from "./send.ts";
import { SPEECH_LEVELS } from "../../types/media/speech.ts";
import { setSpeech } from "./speech.ts";
import { setUsage } from "./usage.ts";
import { setVerbose } from "./verbose.ts";

/** The commands that show or set one setting of a session. */
export const SETTING_COMMANDS: readonly Command[] = [
  {
    name: "think",
    who: "conversation",
    aliases: ["thinking", "t"],
    help: `Thinking level: ${THINK_LEVELS.join(", ")}.`,
    choices: [...THINK_LEVELS, "default"],
    at: "lane",
    run: setThinking,
  },
  {
    name: "verbose",
    who: "conversation",
    aliases: ["v"],
    help: "What is shown of the tools I use: /verbose off, on, full or default.",
    choices: [...VERBOSE_LEVELS, "default"],
    at: "once",
    run: setVerbose,
  },
  {
    name: "reasoning",
    who: "owner",
    aliases: ["reason"],
    help: "Whether my thoughts are shown before each answer: /reasoning on, stream (while they come) or off.",
    choices: [...REASONING_LEVELS, "default"],
    at: "once",
    run: setReasoning,
  },
  {
    name: "usage",
    who: "conversation",
    help: "What this conversation took, and whether each answer says so: /usage off, tokens, full or default.",
    choices: [...USAGE_LEVELS, "default"],
    at: "once",
    run: setUsage,
  },
  {
    name: "tts",
    who: "conversation",
    help: "Which answers I also speak: /tts off, always, inbound (those to a voice message), tagged or default; /tts audio <text> speaks a text.",
    choices: [...SPEECH_LEVELS, "default"],
    at: "apart",
    run: setSpeech,
  },
  {
    name: "queue",
    who: "conversation",
    help: `What becomes of a message while I work: /queue ${QUEUE_MODES.join(", ")}; with debounce:2s, cap:20, drop:old; /queue default.`,
    choices: [...QUEUE_MODES, "default"],
    at: "once",
    run: setQueue,
  },
  {
    name: "activation",
    who: "conversation",
    help: "Which messages of a group I get: /activation mention, always or default.",
    choices: ["mention", "always", "default"],
    at: "once",
    run: setActivation,
  },
  {
    name: "send",
    who: "owner",
    help: "Whether I answer in this conversation: /send on, off or inherit.",
    choices: ["on", "off", "inherit"],
    at: "once",
    run: setSendPolicy,
  },
  {
    name: "elevated",
    who: "anyone",
    aliases: ["elev"],
    help: "Whether my commands leave the sandbox: /elevated off, on, ask (each is asked about), full (none is) or default.",
    choices: [...ELEVATED_LEVELS, "default"],
    at: "once",
    run: setElevated,
  },
  {
    name: "exec",
    who: "owner",
    help: "Makes my commands stricter here: /exec host=sandbox security=deny ask=always; /exec default.",
    at: "once",
    run: setExec,
  },
];

async function setThinking(context: CommandContext, session: Session): Promise<CommandAnswer> {
  const word = context.args.toLowerCase();
  if (word === "") return { text: `Thinking level: ${session.entry.thinkingLevel ?? "as configured"}.` };
  if (word === "default") {
    await session.update({ thinkingLevel: undefined }, { now: true });
    return { text: "Thinking level: as configured." };
  }
  const level = thinkLevelOf(word);
  if (!level) return { text: `"${context.args}" is not a thinking level. The levels are: ${THINK_LEVELS.join(", ")}.` };
  await session.update({ thinkingLevel: level }, { now: true });
  return { text: `Thinking level: ${level}.` };
}
