import type { Command } from "../../src/dispatch/commands/kit/command.ts";
import { commandTable } from "../../src/dispatch/commands/table.ts";
import { QUEUE_MODE_RULES } from "../../src/dispatch/queue/queue-modes.ts";
import { QUEUE_MODE_ALIASES } from "../../src/types/queue.ts";

const WHO: Readonly<Record<Command["who"], string>> = {
  anyone: "anyone who may write",
  conversation: "in a direct chat its person; in a group or the shared conversation an owner",
  owner: "an owner",
};

const WHEN: Readonly<Record<Command["at"], string>> = {
  at_once: "at once, also while a turn is running",
  apart: "at once, and no other message waits for it",
  lane: "when the running turn has ended",
  reset: "at once; it ends the running turn",
};

/** The page of the commands, from their table. */
export function commandPage(): string {
  const { all } = commandTable({ commands: [], revision: 0 });
  return [
    "# Commands in a chat",
    "",
    "<!-- Generated from the code by `npm run generate`. -->",
    "",
    "A message that begins with one of these is a command, unless `commands.text` is off. `commands.allowFrom` and",
    "`commands.ownerAllowFrom` in the [configuration](config.md) say who may use them; plugins may add more.",
    "",
    ...table(["command", "what it does", "who", "when"], all.map(rowOf)),
    "",
    "Everybody who may write may see what is set: `/model`, `/model list`, `/think`, `/queue`, `/verbose`, `/usage`, `/activation` and `/context` without a",
    "further word, also in a group. In a conversation of several people `/context` names files and skills for owners alone; others read",
    "how many there are and how large they are.",
    "Somebody who may not use a command is told so in one line, which names the key that decides. Who may use `/elevated` is in",
    "`tools.elevated`, for owners too.",
    "",
    "## In a message",
    "",
    "`/think`, `/model`, `/verbose`, `/reasoning`, `/usage`, `/tts`, `/elevated`, `/exec` and `/queue` may also be anywhere in a message that says more, at the beginning or after",
    "white space. They then hold for this message only, and the agent gets the message without them: `/think high why is the sky blue?`,",
    "`stop that /queue interrupt`. A message of such words alone sets them for the session. An unknown value, or one in a block of code,",
    "stays text. The same is true when the sender may not use the command. At the beginning of a message, both are answered as the command",
    "would be. `/model` takes an alias or `provider/id`; when that cannot answer, another model does, and the chat is told. `default` works alone only. A message with one of these, but for `/queue`, joins no running turn, because that has its own.",
    "",
    "A forwarded message gives no commands and has no such words: somebody else wrote its text.",
    "",
    "While the agent works, a message that says nothing but to stop, such as `stop`, `please stop!` or `stop everything`, also in other languages, is",
    "`/stop`. At other times the agent gets it.",
    "",
    "## Modes of the queue",
    "",
    "While a turn is running, a message of the same session does what the mode says. Asked in this order: the message's own",
    "`/queue`, the session (`/queue`, or `sessions.patch`), `messages.queue.byChannel`, `messages.queue.mode`.",
    "",
    ...table(
      ["mode", "other names", "a message"],
      Object.entries(QUEUE_MODE_RULES).map(([mode, { help }]) => [`\`${mode}\``, aliasesOf(mode), help]),
    ),
    "",
    "Messages join a running turn one at a time, each after a call of the model. One that has to wait, such as one with a file, keeps none of",
    "the later ones from joining. `debounce` is for how long no further message may come before the next turn begins, `cap` how many messages may wait, and `drop` what happens to more: `old` refuses the",
    "oldest, `new` the newest, and `summarize` gives the agent one line for each of the oldest.",
    "",
    "In a conversation of several people, only an owner ends the turn of an owner: with the mode `interrupt`, the messages of others wait, and",
    "their `/stop` ends only what no owner asked for, and no subagents. `commands.allowFrom` lets others end all.",
    "",
    "Only messages in the same thread of the same chat become one turn or join one. In a conversation that several chats share, such as with",
    '`session.dmScope: "main"`, each chat gets its own answers. What you write on the page may join the turn of any chat.',
    "",
  ].join("\n");
}

function rowOf({ name, aliases = [], help, who, at }: Command): readonly string[] {
  const names = [name, ...aliases].map((word) => `\`/${word}\``).join(", ");
  return [names, help, WHO[who], WHEN[at]];
}

function aliasesOf(mode: string): string {
  return Object.entries(QUEUE_MODE_ALIASES)
    .flatMap(([alias, of]) => (of === mode ? [`\`${alias}\``] : []))
    .join(", ");
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---|").join("")}`, ...rows.map(line)];
}
