import type { ResetReason, Session } from "../../types/session.ts";
import { compactedText } from "../maintenance/compactions.ts";
import { approve } from "./approve.ts";
import type { CommandContribution } from "../../types/contribution.ts";
import {
  fromContribution,
  ExportDesk,
  type Command,
  type CommandAnswer,
  type CommandContext,
  shownKey,
  type Commands,
} from "./kit/command.ts";
import { switchModel } from "./model.ts";
import { showHelp, REPORT_COMMANDS } from "./reports/report-table.ts";
import { restartGateway } from "./restart.ts";
import { SETTING_COMMANDS } from "./setting-table.ts";
import { KeyedQueue } from "../../utils/keyed-queue.ts";
import { commandWord, skillChoices, skillCommand, useSkill } from "./skill.ts";
import { statusText } from "./kit/status.ts";
import { undoTurn } from "./undo.ts";
import type { Peer } from "../../types/chat/message.ts";
import type { SessionKey } from "../../types/ids.ts";
import { isSameChat } from "../chats.ts";
import type { DispatchPorts } from "../ports.ts";
import type { Principal } from "../../types/run/principal.ts";
import { codeSpan } from "../../utils/text/code-span.ts";
import { chatName, principalOf } from "../turn-facts.ts";

const ROLES: Readonly<Record<Principal["kind"], string>> = {
  owner: "an owner",
  sender: "a person in a direct chat, no owner",
  member: "a member of a group, no owner",
  automation: "nobody: the gateway itself",
  plugin: "nobody: a plugin",
};

/** The answer to `/whoami`: the sender as the gateway knows them, with the names that lists of the config need. */
async function answerWhoAmI({ message, key, ports }: CommandContext): Promise<CommandAnswer> {
  const { sender, from } = message;
  const { kind, id, name } = principalOf([{ message }], ports);
  const isOperator = message.options?.operator === true;
  const handle = sender.username === undefined ? [] : [`Username: ${codeSpan(sender.username)}`];
  const lines = [
    `You are ${codeSpan(name ?? id)}: ${ROLES[kind]}.`,
    ...(isOperator ? [] : [`Name in lists such as commands.ownerAllowFrom: ${id}`, ...handle]),
    `Chat: ${codeSpan(chatName(from))}${from.thread === undefined ? "" : `, thread ${from.thread}`}`,
    `Session: ${shownKey(key, ports)}`,
    `Agent: ${ports.settings().agentOf(key)}`,
  ];
  return { text: lines.join("\n") };
}

/** The keys of the replies that an answer consists of; see `Answering`. */
const OF_AN_ANSWER =
  /^in:\d+(?::again\d+)?:(?:reply|media|notice|left-out|voice|change:\d+|block:\d+|(?:call|result|thought|plan):.*)$/;

/**
 * The ids of the rows of this session's answers to a chat that are planned and not sent yet, at the time of the call.
 */
async function unsentParts(
  key: SessionKey,
  chat: Peer,
  { storage: { journal } }: Pick<DispatchPorts, "storage">,
): Promise<readonly number[]> {
  const rows = (await journal.outbox.open()).filter(
    ({ sessionKey, to, replyKey }) => sessionKey === key && isSameChat(to, chat) && OF_AN_ANSWER.test(replyKey),
  );
  return rows.map(({ id }) => id);
}

/** The gateway's own commands. */
const COMMANDS: readonly Command[] = [
  { name: "new", who: "conversation", help: "Start a fresh conversation.", at: "reset", run: startOver("new") },
  { name: "reset", who: "conversation", help: "The same as /new.", at: "reset", run: startOver("reset") },
  {
    name: "stop",
    who: "anyone",
    aliases: ["abort", "cancel"],
    help: "Stop what the agent is doing.",
    choices: [],
    at: "at_once",
    run: stopRuns,
  },
  {
    name: "status",
    who: "anyone",
    help: "Model, tokens and state of this conversation.",
    choices: [],
    at: "at_once",
    run: statusText,
  },
  {
    name: "help",
    who: "anyone",
    aliases: ["start"],
    help: "This list.",
    choices: [],
    at: "at_once",
    run: showHelp,
  },
  {
    name: "whoami",
    who: "anyone",
    aliases: ["id"],
    help: "Who I take you for, and the name of this conversation.",
    choices: [],
    at: "at_once",
    run: answerWhoAmI,
  },
  {
    name: "undo",
    who: "conversation",
    help: "Leave the last turn out of the conversation: what was said to me, and my answer.",
    choices: [],
    at: "lane",
    run: undoTurn,
  },
  ...SETTING_COMMANDS,
  ...REPORT_COMMANDS,
  {
    name: "skill",
    who: "anyone",
    help: "List my skills, or use one: /skill <name> <what for>.",
    at: "lane",
    run: useSkill,
  },
  {
    name: "model",
    who: "conversation",
    help: "Show or choose the model: /model provider/id, with @key to pin a key, /model default.",
    choices: ["status", "list", "default"],
    at: "lane",
    run: switchModel,
  },
  {
    name: "compact",
    who: "conversation",
    help: "Replace the older part of the conversation by a summary: /compact, or /compact and what to keep.",
    at: "lane",
    run: compactNow,
  },
  {
    name: "approve",
    who: "owner",
    scope: "operator.approvals",
    help: "Answer a waiting command: /approve <id> once, always or deny.",
    at: "at_once",
    run: approve,
  },
  {
    name: "restart",
    who: "owner",
    help: "Restart the gateway. I say when I am back.",
    choices: [],
    at: "at_once",
    run: restartGateway,
  },
];

const elsewhere = (name: string, where: string): Command => ({
  name,
  who: "anyone",
  help: "",
  at: "at_once",
  run: async () => ({ text: `/${name} is no command here: ${where}` }),
});

/**
 * Commands of other gateways. Their text is for no model: people give them to change the gateway, and the answer says
 * where that is done.
 */
const ELSEWHERE: readonly Command[] = [
  elsewhere(
    "config",
    "the operator changes the config with `openclaw config set`, and everybody sees settings with /status.",
  ),
  elsewhere(
    "debug",
    "the operator changes the config with `openclaw config set`; /verbose and /status show what I do.",
  ),
  elsewhere("bash", "ask me in words to run a command, and I ask for permission where it is needed."),
];

/** The names of the gateway's own commands, with their aliases: no contributor may add one of them. */
export const COMMAND_NAMES: readonly string[] = COMMANDS.flatMap(({ name, aliases }) => [name, ...(aliases ?? [])]);

/** The commands that contributors have added. `revision` changes with them. */
export interface AddedCommands {
  readonly commands: readonly CommandContribution[];
  /** The skills that people may request of some agent, each under its own name too. */
  readonly skills?: readonly { readonly name: string; readonly description: string }[];
  readonly revision: number;
}

/** The gateway's own commands and the commands of contributors, as they are at each call. */
export function commandTable(added: AddedCommands): Commands {
  let made: { revision: number; all: readonly Command[]; byName: ReadonlyMap<string, Command> } | undefined;
  const current = () => {
    if (made?.revision !== added.revision) {
      const skills = added.skills ?? [];
      const choices = skillChoices(skills.map(({ name }) => name));
      const own = COMMANDS.map((command) => (command.name === "skill" ? { ...command, choices } : command));
      const commands = [...own, ...added.commands.map(fromContribution)];
      const names = commands.flatMap((command) =>
        [command.name, ...(command.aliases ?? [])].map((name) => [name, command] as const),
      );
      // A menu that takes no hyphens shows /show-it as /show_it. A command that has this name itself comes first.
      const inMenus = names.map(([name, command]) => [name.replaceAll("-", "_"), command] as const);
      const byName = new Map([...inMenus.toReversed(), ...names]);
      for (const { name, description } of skills) {
        const word = commandWord(name);
        if (word !== "" && !byName.has(word)) byName.set(word, skillCommand(word, description));
      }
      const all = [...new Set([...commands, ...byName.values()])];
      for (const command of ELSEWHERE) if (!byName.has(command.name)) byName.set(command.name, command);
      made = { revision: added.revision, all, byName };
    }
    return made;
  };
  return {
    get all() {
      return current().all;
    },
    find(name) {
      const { byName } = current();
      const command = byName.get(name);
      if (command) return command;
      // The name of a skill as its file writes it, such as /tide-table for the command /tide_table.
      const skill = byName.get(commandWord(name));
      return skill?.isSkill === true ? skill : undefined;
    },
    exports: new ExportDesk(),
    restarts: new KeyedQueue(),
    speeches: new KeyedQueue(),
  };
}

/** Begins a new conversation. Text after the command becomes its first turn; without text the agent greets. */
function startOver(reason: ResetReason) {
  return async (context: CommandContext, session: Session): Promise<CommandAnswer> => {
    const { from, sender } = context.message;
    await session.reset(reason, { commandSource: from.channel, senderId: sender.id });
    await session.update({ abortedLastRun: undefined }, { now: true });
    return { turn: context.args };
  };
}

async function stopRuns(context: CommandContext): Promise<CommandAnswer> {
  const { key, message, ports, endsAll } = context;
  // Only parts of earlier answers are dropped: the beginning of the answer that is stopped now is still sent.
  const parts = endsAll ? unsentParts(key, message.from, ports) : [];
  const [unsent, ended] = await Promise.all([parts, context.stop()]);
  await Promise.all(unsent.map((id) => ports.chats.outbox.drop(id)));
  if (!endsAll && ended.length === 0 && context.running().has(key))
    return { text: "Only an owner may stop this, because an owner asked for it." };
  const [, ...more] = ended;
  const rest = unsent.length === 0 ? "" : ` ${messages(unsent.length)} of my answer will not be sent.`;
  if (ended.length === 0) return { text: unsent.length === 0 ? "Nothing is running." : `⏹ Stopped.${rest}` };
  return { text: (more.length === 0 ? "⏹ Stopped." : `⏹ Stopped, together with ${more.length} that waited.`) + rest };
}

const messages = (count: number): string => (count === 1 ? "1 message" : `${count} messages`);

async function compactNow(context: CommandContext, session: Session): Promise<CommandAnswer> {
  return { text: compactedText(await context.compact(session)) };
}
