import type { Principal } from "../../../types/run/principal.ts";
import { codeSpan } from "../../../utils/text/code-span.ts";
import { chatName, principalOf } from "../../turn-facts.ts";
import type { CommandAnswer, CommandContext } from "../kit/command.ts";

const ROLES: Readonly<Record<Principal["kind"], string>> = {
  owner: "an owner",
  sender: "a person in a direct chat, no owner",
  member: "a member of a group, no owner",
  automation: "nobody: the gateway itself",
  plugin: "nobody: a plugin",
};

/** The answer to `/whoami`: the sender as the gateway knows them, with the names that lists of the config need. */
export async function answerWhoAmI({ message, key, ports }: CommandContext): Promise<CommandAnswer> {
  const { sender, from } = message;
  const { kind, id, name } = principalOf([{ message }], ports);
  const isOperator = message.options?.operator === true;
  const handle = sender.username === undefined ? [] : [`Username: ${codeSpan(sender.username)}`];
  const lines = [
    `You are ${codeSpan(name ?? id)}: ${ROLES[kind]}.`,
    ...(isOperator ? [] : [`Name in lists such as commands.ownerAllowFrom: ${id}`, ...handle]),
    `Chat: ${codeSpan(chatName(from))}${from.thread === undefined ? "" : `, thread ${from.thread}`}`,
    `Session: ${key}`,
    `Agent: ${ports.settings().agentOf(key)}`,
  ];
  return { text: lines.join("\n") };
}
