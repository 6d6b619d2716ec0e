import type { Run } from "../../harness/run.ts";
import type { RunLog } from "../../harness/log/run-log.ts";
import type { RunId, SessionKey } from "../../types/ids.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { HistoryLine, InboundMessage } from "../../types/chat/message.ts";
import type { Session } from "../../types/session.ts";
import type { RunRegistry } from "../run-registry.ts";
import type { Approvals } from "../approvals/approvals.ts";
import type { Compactions } from "../maintenance/compactions.ts";
import type { DispatchPorts } from "../ports.ts";
import type { Lanes } from "../queue/lanes.ts";
import type { Replies } from "../notices/replies.ts";
import { commandEndedGateway } from "../notices/chat-texts.ts";
import { typingWhile } from "../notices/typing.ts";
import { isDiskError } from "../../store/disk.ts";
import { mayEndAll, mayHoldCommands, refusalOf } from "../directives/access.ts";
import { directivesOf } from "../directives/said.ts";
import { withoutDirectives, type FoundDirective } from "../directives/parse.ts";
import { commandIn, type TypedCommand } from "./parse-command.ts";
import { inSession } from "../../sessions/in-session.ts";
import type { CommandAnswer, CommandContext, CommandPorts, Commands } from "./kit/command.ts";
import type { StoredMediaItem } from "../notices/replies.ts";

/** A message that is a command. */
interface CommandMessage {
  readonly row: InboxRow;
  readonly key: SessionKey;
  /** The log that a client watches; undefined without a client. */
  readonly log: RunLog | undefined;
  /** Takes the lines of the chat before the message. */
  history(): readonly HistoryLine[];
}

/** The parts of the pipeline that a command may use. */
export interface CommandHost {
  readonly commands: Commands;
  readonly approvals: Approvals;
  readonly lanes: Lanes<Run>;
  readonly registry: Pick<RunRegistry, "running">;
  readonly replies: Replies;
  readonly compactions: Compactions;
  /** See `Dispatch.stop`. */
  stop(key: SessionKey, how: { readonly by?: InboxRow }): Promise<readonly RunId[]>;
}

/**
 * The command that a message is. Undefined when the message is none, when messages of its kind are never commands, when
 * somebody else wrote its text, or when it begins with a directive and says more to the agent.
 */
export function commandOf(
  message: InboundMessage,
  key: SessionKey,
  commands: Commands,
  ports: Pick<DispatchPorts, "kinds" | "settings">,
): TypedCommand | undefined {
  if (!mayHoldCommands(message, ports)) return undefined;
  const asked = commandIn(message.text, ports.settings(), commands);
  if (!asked) return undefined;
  const found = directivesOf(message, key, ports);
  if (found.length === 0 || !isFirst(found, message.text)) return asked;
  if (withoutDirectives(message.text, found).trim() !== "") return undefined;
  return found.length === 1 ? asked : inTurn(found, commands);
}

const isFirst = ([first]: readonly FoundDirective[], text: string): boolean =>
  first !== undefined && text.slice(0, first.from).trim() === "";

/**
 * The command for a message of several directives and nothing else: each directive holds for the session from now on.
 */
function inTurn(found: readonly FoundDirective[], commands: Commands): TypedCommand {
  const run = async (context: CommandContext, session: Session): Promise<CommandAnswer> => {
    const texts: string[] = [];
    for (const { command: name, args } of found) {
      const answer = await commands.find(name)?.run({ ...context, args }, session);
      if (answer && "text" in answer) texts.push(answer.text);
    }
    return { text: texts.join("\n") };
  };
  const name = found.map(({ command }) => command).join(AND);
  return { command: { name, help: "", who: "conversation", at: "lane", run }, args: "" };
}

/** The most processes that run a command: a command that ends the process each time must not do so at every start. */
const MOST_STARTS = 2;

/**
 * The work of a command, which runs the command, at once or in the session's lane, and answers it. The work rejects
 * when the answer cannot be written, and may then be repeated: the command itself runs only once.
 */
export function commandWork(
  asked: TypedCommand,
  said: CommandMessage,
  host: CommandHost,
  ports: CommandPorts,
): () => Promise<void> {
  const { row, key, log } = said;
  const { command } = asked;
  const reply = (text: string, file?: StoredMediaItem) =>
    host.replies.command(row, key, { name: command.name, text, log, ...(file && { file }) });
  const give = async ({ text, file, afterwards }: Extract<CommandAnswer, { text: string }>) => {
    await reply(text, file);
    afterwards?.();
  };
  const refused = refusalOf(asked, { message: row.message, key }, ports.settings());
  if (refused !== undefined) return () => reply(refused);
  if (row.attempts >= MOST_STARTS) return () => refuseRepeat(command.name, said, host);
  const stopped = new AbortController();
  const context = contextFor(asked, said, { host, ports, signal: stopped.signal });
  let answer: CommandAnswer | undefined;
  const begun = <T>(run: () => Promise<T>): Promise<T> => {
    notifyCommand(asked, said, ports);
    return run();
  };
  if (command.at === "at_once" || command.at === "apart") {
    return async () => {
      answer ??= await counted(said, ports, async () => begun(() => command.run(context)));
      if (answer === undefined) return leaveCommand(said, host);
      if ("text" in answer) await give(answer);
    };
  }
  const { at } = command;
  const work = async () => {
    const run = () => begun(() => inSession(key, (session) => command.run(context, session), ports.storage));
    answer ??= await counted(said, ports, run);
    if (answer === undefined) return leaveCommand(said, host);
    if ("text" in answer) return give(answer);
    host.replies.acks.put([row]);
    host.lanes.enterFirst(key, { rows: [row], pending: said.history(), text: answer.turn, ...(log && { log }) });
  };
  const abort = () => stopped.abort();
  return async () => host.lanes.occupy(key, { kind: "work", rows: [row], work, abort, ...(log && { log }) }, at);
}

/** The text between the names of several directives in one message. */
const AND = " and /";

/**
 * Informs plugins and hooks about a command, once for each of its names. For commands that begin a new conversation,
 * `session:reset` does that.
 */
function notifyCommand({ command, args }: TypedCommand, { row, key }: CommandMessage, ports: CommandPorts): void {
  const {
    runs: { hooks },
  } = ports;
  if (command.at === "reset" || hooks?.has("command") !== true) return;
  const { from, sender, id } = row.message;
  const { sessionId } = ports.storage.sessions.peek(key) ?? {};
  const place = { channelId: from.channel, accountId: from.account, conversationId: from.chat.id, messageId: id };
  const context = { ...place, sessionKey: key, senderId: sender.id, ...(sessionId !== undefined && { sessionId }) };
  for (const name of command.name.split(AND)) {
    const event = { command: name, args, commandSource: from.channel, senderId: sender.id, sessionKey: key };
    hooks.notify("command", event, context);
  }
}

const refuseRepeat = (name: string, { row, log }: CommandMessage, { replies }: CommandHost): Promise<void> =>
  replies.refuse([row], log, commandEndedGateway(name), `the gateway ended twice while it ran the command ${name}`);

/** Leaves a command whose message somebody ended while it waited. */
function leaveCommand({ row, log }: CommandMessage, { replies }: CommandHost): void {
  replies.endLog(log, { kind: "aborted", by: "user" });
  replies.acks.end([row]);
}

/**
 * Counts this process before the command runs. Undefined when the message has ended, so that the command does not run.
 * A full disk delays no command, because `/stop` has to work then too.
 */
async function counted<T>(
  { row, key }: Pick<CommandMessage, "row" | "key">,
  ports: CommandPorts,
  run: () => Promise<T>,
): Promise<T | undefined> {
  const {
    storage: { journal },
    log,
  } = ports;
  try {
    if (!(await journal.inbox.begin(row.id))) return undefined;
  } catch (error) {
    if (!isDiskError(error)) throw error;
    log.warn("the start of a command is not counted", { inbox: row.id, error });
  }
  const { agents, agentOf } = ports.settings();
  return typingWhile(row, agents.get(agentOf(key)) ?? {}, ports, run);
}

function contextFor(
  { args }: TypedCommand,
  { row, key }: CommandMessage,
  { host, ports, signal }: { host: CommandHost; ports: CommandPorts; signal: AbortSignal },
): CommandContext {
  const { message } = row;
  const endsAll = mayEndAll({ message, key }, ports.settings());
  return {
    args,
    message,
    key,
    ports,
    signal,
    commands: host.commands,
    approvals: host.approvals,
    isOwner: ports.settings().isOwner(message),
    endsAll,
    stop: (of = key) => host.stop(of, endsAll ? {} : { by: row }),
    running: () => new Set(host.registry.running().map(({ stream }) => stream.facts.sessionKey)),
    compact: (session) =>
      host.compactions.compact(session, { signal, message, ...(args !== "" && { instructions: args }) }),
  };
}
