import type { Command } from "../kit/command.ts";
import { budget } from "./budget.ts";
import { CONTEXT_FORMS, showContext } from "./context.ts";
import { FORMATS } from "./export-formats.ts";
import { exportConversation } from "./export.ts";
import { listCommands } from "./help.ts";
import { MOST_TURNS, showHistory } from "./history.ts";
import { showModels } from "./models.ts";
import { showSubagents } from "./subagents.ts";
import { loop } from "./loop.ts";
import { showTasks } from "./tasks.ts";
import { tellWhy } from "./why.ts";

/** The commands that show the state of a conversation and of its work, and the lists that people choose from. */
export const REPORT_COMMANDS: readonly Command[] = [
  {
    name: "commands",
    who: "anyone",
    help: "All commands with their other names, and those of skills, in pages: /commands 2.",
    at: "once",
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
    help: "The budgets of this conversation: /budget, or /budget raise and how much more, in money or tokens.",
    choices: ["status"],
    at: "once",
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
    help: "Repeat a task here: /loop 5m and the task, or /loop and the task, so that I choose when. /loop status, /loop stop.",
    choices: ["status", "stop"],
    at: "apart",
    run: loop,
  },
];
