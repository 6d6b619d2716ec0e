import type { InboundMessage } from "../../types/chat/message.ts";
import type { DispatchPorts } from "../ports.ts";
import type { DispatchSettings } from "../settings.ts";
import type { Command, Commands } from "./command.ts";
import { parseCommand, type CommandCall } from "./parse.ts";

/** A command that somebody typed, with the text after it. */
export interface AskedCommand {
  readonly command: Command;
  readonly args: string;
}

/** Whether the text of a message may hold commands. Somebody else wrote the text of a forwarded message, so it never does. Pure. */
export const mayHoldCommands = (message: InboundMessage, { kinds }: Pick<DispatchPorts, "kinds">): boolean =>
  kinds.of(message).takesCommands && message.context?.isForwarded !== true;

/** The command in a text. Undefined when it is no known command. */
export function commandIn(text: string, settings: DispatchSettings, commands: Commands): AskedCommand | undefined {
  const call = callIn(text, settings);
  const command = call && commands.find(call.name);
  return call && command && { command, args: call.args };
}

/** A reset trigger of the config means `/new`; `/reset`, which is one by default, keeps its own name. */
function callIn(text: string, { textCommands, resetTriggers }: DispatchSettings): CommandCall | undefined {
  const said = text.trim();
  const trigger = resetTriggers.find((word) => said === word || said.startsWith(`${word} `));
  if (trigger !== undefined) {
    const name = trigger === "/reset" ? "reset" : "new";
    return { name, args: said.slice(trigger.length).trim() };
  }
  return textCommands ? parseCommand(text) : undefined;
}
