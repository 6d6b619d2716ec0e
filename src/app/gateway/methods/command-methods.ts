import { z } from "zod";
import type { Command } from "../../../dispatch/commands/kit/command.ts";
import { COMMAND_NAMES } from "../../../dispatch/commands/table.ts";
import { DIRECTIVES } from "../../../dispatch/directives/table.ts";
import { commandsAnswer } from "../../../types/answers/chat.ts";
import { defineMethod, type Method } from "../../../types/method.ts";
import type { Parts } from "../parts/parts.ts";

/** The protocol's limits of one entry. */
const MOST_CHOICES = 50;
const MOST_ALIASES = 20;
const MOST_COMMANDS = 500;

/** Commands that may also be a word of a message. */
const DIRECTIVE_NAMES: ReadonlySet<string> = new Set([...DIRECTIVES.values()].map(({ command }) => command));

/** The commands of chats, for clients that offer them for completion; none where the config turns text commands off. */
export const commandMethods = ({ core }: Pick<Parts, "core">): readonly Method[] => [
  defineMethod({
    name: "commands.list",
    scope: "operator.read",
    params: z.looseObject({ includeArgs: z.boolean().default(true) }),
    result: commandsAnswer,
    run: async ({ includeArgs }) => ({ commands: shownCommands({ core }, includeArgs) }),
  }),
];

/** The commands of chats as the protocol has them. */
export function shownCommands({ core }: Pick<Parts, "core">, withArgs: boolean) {
  const all = core.ports.settings().textCommands ? core.dispatch.commands.all : [];
  return all.slice(0, MOST_COMMANDS).map((command) => entryOf(command, withArgs));
}

/** A command as the protocol has it. */
function entryOf({ name, aliases = [], help, choices, isSkill }: Command, withArgs: boolean) {
  return {
    name,
    textAliases: [name, ...aliases].slice(0, MOST_ALIASES).map((word) => `/${word}`),
    description: help,
    ...(DIRECTIVE_NAMES.has(name) && { category: "options" }),
    source: sourceOf(name, isSkill === true),
    scope: "both",
    acceptsArgs: choices === undefined || choices.length > 0,
    ...(withArgs && choices !== undefined && choices.length > 0 && { args: [argOf(choices)] }),
  };
}

function sourceOf(name: string, isSkill: boolean): "native" | "skill" | "plugin" {
  if (isSkill) return "skill";
  return COMMAND_NAMES.includes(name) ? "native" : "plugin";
}

const argOf = (choices: readonly string[]) => ({
  name: "choice",
  description: "the first word",
  type: "string",
  choices: choices.slice(0, MOST_CHOICES).map((value) => ({ value, label: value })),
});
