import { QUEUE_MODES } from "../../types/queue.ts";
import { THINK_LEVELS } from "../../types/run/model.ts";
import { REASONING_LEVELS, reasoningLevelOf } from "../../types/run/reasoning-level.ts";
import { USAGE_LEVELS } from "../../types/run/usage-level.ts";
import { VERBOSE_LEVELS } from "../../types/run/verbose.ts";
import type { Session, SessionEntry } from "../../types/session.ts";
import { thinkLevelOf } from "../directives/think-words.ts";
import type { Command, CommandAnswer, CommandContext } from "./kit/command.ts";
import { ELEVATED_LEVELS, elevatedLevelOf, type ElevatedLevel } from "../../types/run/exec-wish.ts";
import { setExec } from "./exec.ts";
import { setQueue } from "./queue.ts";
import { SPEECH_LEVELS } from "../../types/media/speech.ts";
import { setSpeech } from "./speech.ts";
import { setUsage } from "./usage.ts";
import { setVerbose } from "./verbose.ts";
import { storeSetting, storeLevel } from "./kit/store-setting.ts";
import { commandFormOf, inCommandForm } from "../chats.ts";

const SHOWN = {
  always: "I see every message of this group, and answer when I have something to say.",
  mention: "I see what is said to me here: messages that name me or reply to me.",
} as const;

const ACTIVATIONS = ["mention", "always"] as const;

/**
 * Shows or sets which messages of a group the agent gets, in place of `requireMention`. Holds from the next message on.
 */
async function setActivation(context: CommandContext): Promise<CommandAnswer> {
  const { key, message, ports } = context;
  if (message.from.chat.kind !== "group") return { text: "Only a group has an activation. Here I see every message." };
  const word = context.args.trim().toLowerCase();
  const wanted = ACTIVATIONS.find((name) => name === word);
  if (word !== "" && word !== "default" && !wanted)
    return { text: `"${context.args}" is no activation. Use ${ACTIVATIONS.join(", ")} or default.` };
  if (word !== "") await storeSetting(context, { groupActivation: wanted });
  const now = ports.storage.sessions.peek(key)?.groupActivation;
  return {
    text: now === undefined ? "Activation: as configured by requireMention." : `Activation: ${now}. ${SHOWN[now]}`,
  };
}

const MEANS: Readonly<Record<ElevatedLevel, string>> = {
  off: "Commands do not leave the sandbox.",
  on: "Commands run on the machine, outside the sandbox, with the approvals of the config.",
  ask: "Commands run on the machine, outside the sandbox, and each is asked about.",
  full: "Commands run on the machine, outside the sandbox, without approvals when an owner writes.",
};

const UNSET = "Commands stay in the sandbox, if there is one. I may ask to run one outside of it.";

/**
 * Shows or sets how far commands of this conversation leave the sandbox. Holds from the next turn on, for whoever may
 * set it.
 */
async function setElevated(context: CommandContext): Promise<CommandAnswer> {
  const refused = await storeLevel(context, "elevatedLevel", { levels: ELEVATED_LEVELS, levelOf: elevatedLevelOf });
  if (refused !== undefined) return { text: refused };
  const { key, ports } = context;
  const own = elevatedLevelOf(ports.storage.sessions.peek(key)?.elevatedLevel);
  const settings = ports.settings();
  const level = own ?? settings.agents.get(settings.agentOf(key))?.elevated;
  if (level === undefined) return { text: `Elevated: not set. ${UNSET}` };
  return { text: `Elevated: ${level}${own === undefined ? " (as configured)" : ""}. ${MEANS[level]}` };
}

const TEXTS = {
  off: "Reasoning: off. Thoughts are not shown.",
  on: "Reasoning: on. Thoughts are shown before each answer.",
  stream: "Reasoning: stream. Thoughts are shown while they come, until the answer replaces them.",
};

/** Shows or sets whether this chat sees the model's thoughts, before each answer or while they come. */
async function setReasoning(context: CommandContext, session?: Session): Promise<CommandAnswer> {
  const refused = await storeLevel(
    context,
    "reasoningLevel",
    { levels: REASONING_LEVELS, levelOf: reasoningLevelOf },
    session,
  );
  if (refused !== undefined) return { text: refused };
  return { text: TEXTS[reasoningLevelOf(context.ports.storage.sessions.peek(context.key)?.reasoningLevel) ?? "off"] };
}

const POLICIES: ReadonlyMap<string, SessionEntry["sendPolicy"]> = new Map([
  ["on", "allow"],
  ["allow", "allow"],
  ["off", "deny"],
  ["deny", "deny"],
  ["inherit", undefined],
  ["default", undefined],
]);

/** Shows or sets whether messages of this session are answered. Commands are answered in any case. */
async function setSendPolicy(context: CommandContext): Promise<CommandAnswer> {
  const word = context.args.trim().toLowerCase();
  if (word !== "" && !POLICIES.has(word))
    return { text: inForm("Use /send on, off or inherit. Nothing is changed.", context) };
  if (word !== "") await storeSetting(context, { sendPolicy: POLICIES.get(word) });
  return { text: inForm(stateOf(context), context) };
}

function stateOf({ key, message, ports }: CommandContext): string {
  const own = ports.storage.sessions.peek(key)?.sendPolicy;
  const where = own === undefined ? "as configured by session.sendPolicy" : "set here";
  const isAnswered = own === undefined ? ports.settings().mayAnswer?.(key, message.from) !== false : own !== "deny";
  return isAnswered
    ? `Messages of this conversation are answered (${where}).`
    : `Messages of this conversation are not answered (${where}). Commands still are: /send on answers again.`;
}

const inForm = (text: string, { ports, message }: CommandContext): string =>
  inCommandForm(text, commandFormOf(ports, message.from));

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
    at: "at_once",
    run: setVerbose,
  },
  {
    name: "reasoning",
    who: "owner",
    scope: "operator.write",
    aliases: ["reason"],
    help: "Whether my thoughts are shown before each answer: /reasoning on, stream (while they come) or off.",
    choices: [...REASONING_LEVELS, "default"],
    at: "at_once",
    run: setReasoning,
  },
  {
    name: "usage",
    who: "conversation",
    help: "What this conversation took, and whether each answer says so: /usage off, tokens, full or default.",
    choices: [...USAGE_LEVELS, "default"],
    at: "at_once",
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
    at: "at_once",
    run: setQueue,
  },
  {
    name: "activation",
    who: "conversation",
    help: "Which messages of a group I get: /activation mention, always or default.",
    choices: ["mention", "always", "default"],
    at: "at_once",
    run: setActivation,
  },
  {
    name: "send",
    who: "owner",
    scope: "operator.write",
    help: "Whether I answer in this conversation: /send on, off or inherit.",
    choices: ["on", "off", "inherit"],
    at: "at_once",
    run: setSendPolicy,
  },
  {
    name: "elevated",
    who: "anyone",
    aliases: ["elev"],
    scope: "operator.admin",
    shows: [""],
    help: "Whether my commands leave the sandbox: /elevated off, on, ask (each is asked about), full (none is) or default.",
    choices: [...ELEVATED_LEVELS, "default"],
    at: "at_once",
    run: setElevated,
  },
  {
    name: "exec",
    who: "owner",
    shows: [""],
    help: "Makes my commands stricter here: /exec host=sandbox security=deny ask=always; /exec default.",
    at: "at_once",
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
