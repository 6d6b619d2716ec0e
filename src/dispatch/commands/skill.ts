import type { RequestedSkill } from "../../types/run/skill.ts";
import { commandFormOf, inCommandForm } from "../chats.ts";
import { agentInChat } from "../settings.ts";
import type { Command, CommandAnswer, CommandContext } from "./kit/command.ts";

/** The most UTF-16 units of a description in a list. */
const MOST_SHOWN = 100;
/** Most skills in a list. */
const MOST_LISTED = 60;

/** Lists the skills, or gives the agent a request to use one of them. */
export async function useSkill(context: CommandContext): Promise<CommandAnswer> {
  const { args } = context;
  const [name = ""] = args.trim().split(/\s+/, 1);
  const skills = await skillsFor(context);
  if (name === "" || name.toLowerCase() === "list") return { text: listText(skills, context) };
  const skill = find(skills, name);
  if (skill) return { turn: requestFor(skill, args.trim().slice(name.length).trim()) };
  const advice = inCommandForm("/skill lists them.", commandFormOf(context.ports, context.message.from));
  return { text: `I have no skill "${name}". ${advice}` };
}

/**
 * The command of one skill. Where the agent of the session does not have the skill, the text goes to the agent as it
 * is.
 */
export const skillCommand = (word: string, description: string): Command => ({
  name: word,
  help: short(description),
  who: "anyone",
  at: "lane",
  isSkill: true,
  async run(context) {
    const skill = find(await skillsFor(context), word);
    return { turn: skill ? requestFor(skill, context.args.trim()) : context.message.text };
  },
});

/** The name of a command for a skill: native menus take small letters, digits and `_` only. */
export const commandWord = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .replaceAll(/^_+|_+$/g, "")
    .slice(0, 32);

/** The words that may follow `/skill`: each skill in a form without white space that `/skill` takes. */
export const skillChoices = (names: readonly string[]): readonly string[] => {
  const words = names.map((name) => (/\s/.test(name) ? commandWord(name) : name.toLowerCase()));
  return [...new Set(["list", ...words])].filter((word) => word !== "");
};

const find = (skills: readonly RequestedSkill[], name: string): RequestedSkill | undefined =>
  skills.find((skill) => skill.name.toLowerCase() === name.toLowerCase()) ??
  skills.find((skill) => commandWord(skill.name) === commandWord(name));

async function skillsFor({ key, message, ports }: CommandContext): Promise<readonly RequestedSkill[]> {
  const settings = ports.settings();
  const agent = settings.agents.get(settings.agentOf(key));
  const placed = message.options?.operator === true ? undefined : message;
  return agent ? ports.prompts.skillsOf(agentInChat(agent, placed, settings)) : [];
}

function requestFor({ name, location }: RequestedSkill, input: string): string {
  const request = `Use the skill "${name}" for this: read ${location} and do what it says.`;
  return input === "" ? request : `${request}\n\n${input}`;
}

function listText(skills: readonly RequestedSkill[], { ports, message }: CommandContext): string {
  if (skills.length === 0) return "I have no skills that you can request.";
  const lines = skills.slice(0, MOST_LISTED).map(({ name, description }) => `• ${name} – ${short(description)}`);
  const more = skills.length - lines.length;
  const advice = inCommandForm("Use one: /skill <name> <what for>.", commandFormOf(ports, message.from));
  return ["Skills:", ...lines, ...(more > 0 ? [`… and ${more} more`] : []), advice].join("\n");
}

const short = (text: string): string => (text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN - 1)}…` : text);
