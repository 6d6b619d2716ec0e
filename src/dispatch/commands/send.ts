import type { SessionEntry } from "../../types/session.ts";
import { commandFormOf, inCommandForm } from "../chats.ts";
import type { CommandAnswer, CommandContext } from "./kit/command.ts";
import { storeSetting } from "./kit/store-setting.ts";

const POLICIES: ReadonlyMap<string, SessionEntry["sendPolicy"]> = new Map([
  ["on", "allow"],
  ["allow", "allow"],
  ["off", "deny"],
  ["deny", "deny"],
  ["inherit", undefined],
  ["default", undefined],
]);

/** Shows or sets whether messages of this session are answered. Commands are, in any case. */
export async function setSendPolicy(context: CommandContext): Promise<CommandAnswer> {
  const word = context.args.trim().toLowerCase();
  if (word !== "" && !POLICIES.has(word))
    return { text: inForm("Use /send on, off or inherit. Nothing is changed.", context) };
  if (word !== "") await storeSetting(context, { sendPolicy: POLICIES.get(word) });
  return { text: inForm(stateOf(context), context) };
}

function stateOf({ key, message, ports }: CommandContext): string {
  const own = ports.sessions.peek(key)?.sendPolicy;
  const where = own === undefined ? "as configured by session.sendPolicy" : "set here";
  const isAnswered = own === undefined ? ports.settings().mayAnswer?.(key, message.from) !== false : own !== "deny";
  return isAnswered
    ? `Messages of this conversation are answered (${where}).`
    : `Messages of this conversation are not answered (${where}). Commands still are: /send on answers again.`;
}

const inForm = (text: string, { ports, message }: CommandContext): string =>
  inCommandForm(text, commandFormOf(ports, message.from));
