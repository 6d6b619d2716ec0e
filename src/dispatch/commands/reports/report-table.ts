import type { Command, CommandAnswer, CommandContext } from "../kit/command.ts";
import { budget } from "./budget.ts";
import { CONTEXT_FORMS, showContext } from "./context.ts";
import { FORMATS } from "./export-formats.ts";
import { exportConversation } from "./export.ts";
import { MOST_TURNS, showHistory, showSubagents } from "./subagents.ts";
import { showModels, pageOf, wordsAndPage } from "./models.ts";
import { loop } from "./loop.ts";
import { showTasks } from "./tasks.ts";
import { tellWhy } from "./why.ts";
import type { CommandForm } from "../../../types/chat/channel.ts";
import { commandFormOf, inCommandForm } from "../../chats.ts";

/** The commands in short, as people of this chat write them. */
export async function showHelp({ message, ports, commands }: CommandContext): Promise<CommandAnswer> {
  const form = commandFormOf(ports, message.from);
  const own = commands.all.filter(({ isSkill }) => isSkill !== true);
  const lines = own.map(({ name, help }) => inCommandForm(`/${name} – ${help}`, form));
  return { text: ["Commands:", ...lines, ...noteOf(form)].join("\n") };
}

/** All commands in pages, with their other names, and with the commands that request a skill. */
async function listCommands({ args, message, ports, commands }: CommandContext): Promise<CommandAnswer> {
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

/** The commands that show the state of a conversation and of its work, and the lists that people choose from. */
export const REPORT_COMMANDS: readonly Command[] = [
  {
    name: "commands",
    who: "anyone",
    help: "All commands with their other names, and those of skills, in pages: /commands 2.",
    at: "at_once",
    run: listCommands,
  },
  {
    name: "models",
    who: "anyone",
    help: "The models that may be used here: /models, or /models and a provider or a part of a name, and a page.",
    at: "apart",
    run: showModels,
  },
  {
    name: "context",
    who: "conversation",
    help: "What the model saw last, and how much of its window that takes: /context list, detail or json.",
    choices: CONTEXT_FORMS,
    at: "apart",
    run: showContext,
  },
  {
    name: "history",
    who: "conversation",
    help: `The last turns of this conversation: /history, or /history and their number, at most ${MOST_TURNS}.`,
    at: "apart",
    run: showHistory,
  },
  {
    name: "why",
    who: "conversation",
    help: "What happened to the last message: why it got its answer, or none. /why 2 for one two messages earlier, /why #4711 for an id.",
    at: "apart",
    run: tellWhy,
  },
  {
    name: "export",
    who: "conversation",
    help: "This conversation as a file: /export md or json; an owner also gets jsonl, the transcript as it is kept.",
    choices: FORMATS,
    at: "apart",
    run: exportConversation,
  },
  {
    name: "budget",
    who: "owner",
    shows: ["", "status"],
    help: "The budgets of this conversation: /budget, or /budget raise and how much more, in money or tokens.",
    choices: ["status"],
    at: "at_once",
    run: budget,
  },
  {
    name: "subagents",
    who: "conversation",
    help: "The subagents of this conversation: /subagents list; info, log or stop with its number, label or id; stop all; spawn, send, steer.",
    choices: ["list", "info", "log", "stop", "spawn", "send", "steer"],
    at: "apart",
    run: showSubagents,
  },
  {
    name: "tasks",
    who: "conversation",
    help: "Work in the background of this conversation: /tasks, or show or cancel with an id. An owner sees all of it: /tasks all.",
    choices: ["list", "all"],
    at: "apart",
    run: showTasks,
  },
  {
    name: "loop",
    who: "owner",
    shows: ["", "status"],
    help: "Repeat a task here: /loop 5m and the task, or /loop and the task, so that I choose when. /loop status, /loop stop.",
    choices: ["status", "stop"],
    at: "apart",
    run: loop,
  },
];
