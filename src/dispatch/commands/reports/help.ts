import type { CommandForm } from "../../../types/chat/channel.ts";
import { commandFormOf, inCommandForm } from "../../chats.ts";
import type { Command, CommandAnswer, CommandContext } from "../kit/command.ts";
import { pageOf, wordsAndPage } from "./pages.ts";

/** The commands in short, as people of this chat write them. */
export async function showHelp({ message, ports, commands }: CommandContext): Promise<CommandAnswer> {
  const form = commandFormOf(ports, message.from);
  const own = commands.all.filter(({ isSkill }) => isSkill !== true);
  const lines = own.map(({ name, help }) => inCommandForm(`/${name} – ${help}`, form));
  return { text: ["Commands:", ...lines, ...noteOf(form)].join("\n") };
}

/** All commands in pages, with their other names, and with the commands that request a skill. */
export async function listCommands({ args, message, ports, commands }: CommandContext): Promise<CommandAnswer> {
  const form = commandFormOf(ports, message.from);
  const lines = commands.all.map((command) => inCommandForm(lineOf(command), form));
  const command = inCommandForm("/commands", form);
  const text = pageOf({ title: "All commands", lines, page: wordsAndPage(args).page, command });
  return { text: [text, ...noteOf(form)].join("\n") };
}

function lineOf({ name, aliases = [], help }: Command): string {
  const others = aliases.map((alias) => ` /${alias}`).join("");
  return `/${name} –${others === "" ? "" : ` also${others} –`} ${help}`;
}

const noteOf = (form: CommandForm | undefined): readonly string[] => (form?.note === undefined ? [] : [form.note]);
