import { z } from "zod";
import { speechConfig } from "../providers/speech/config.ts";
import { QUEUE_DROPS, QUEUE_MODES } from "../types/queue.ts";
import { about, idList, milliseconds, pacingConfig } from "../utils/config.ts";
import { makes } from "../utils/makes.ts";
import { compilePattern } from "../utils/text/pattern.ts";

const isPattern = makes(compilePattern);

/** `queue` is read as `followup`, and the two backlog modes as `steer` that keeps what did not reach the model. */
const queueMode = z.enum([...QUEUE_MODES, "queue", "steer+backlog"]);

const queue = z.strictObject({
  mode: queueMode
    .default("collect")
    .meta(
      about(
        "Mode",
        "What happens to a message while a run is active. `collect`: it waits and joins other waiting messages in one " +
          "turn. `followup`: it waits for a turn of its own. `steer`: it joins the running turn. `interrupt`: it ends " +
          "the running turn.",
      ),
    ),
  byChannel: z.record(z.string(), queueMode).prefault({}).meta(about("By channel", "Mode by channel.")),
  debounceMs: milliseconds
    .default(500)
    .meta(about("Debounce", "Milliseconds without a further message before queued messages become a turn.")),
  debounceMsByChannel: z
    .record(z.string(), milliseconds)
    .prefault({})
    .meta(about("Debounce by channel", "`debounceMs` by channel.")),
  cap: z.int().min(1).default(20).meta(about("Cap", "Most messages that wait in one session.")),
  drop: z
    .enum(QUEUE_DROPS)
    .default("summarize")
    .meta(
      about(
        "Drop",
        "What happens to messages over the cap: `old` refuses the oldest, `new` refuses the newest, `summarize` gives the agent one line for each of the oldest.",
      ),
    ),
});

/** `messages.*` */
export const messagesConfig = z.strictObject({
  responsePrefix: z
    .string()
    .optional()
    .meta(
      about(
        "Response prefix",
        "Text before every answer. `{model}`, `{modelFull}`, `{provider}`, `{thinkingLevel}` and `{identity.name}` " +
          "are replaced by those of the answer; `auto` means `[{identity.name}]`.",
      ),
    ),
  queue: queue.prefault({}).meta(about("Queue", "Messages that arrive while a run is active.")),
  inbound: z
    .strictObject({
      debounceMs: milliseconds
        .default(0)
        .meta(
          about(
            "Debounce",
            "Milliseconds within which messages of one sender become one turn; with the queue mode `collect` also those of others in the same group.",
          ),
        ),
      byChannel: z.record(z.string(), milliseconds).prefault({}).meta(about("By channel", "`debounceMs` by channel.")),
    })
    .prefault({})
    .meta(about("Inbound", "Collecting of incoming messages.")),
  groupChat: z
    .strictObject({
      mentionPatterns: z
        .array(z.string().refine(isPattern, "is no regular expression"))
        .prefault([])
        .meta(
          about("Mention patterns", "Regular expressions that count as a mention of the bot; case does not matter."),
        ),
      historyLimit: z
        .int()
        .min(0)
        .default(50)
        .meta(about("History limit", "Number of unanswered group messages that the model sees with the next mention.")),
    })
    .prefault({})
    .meta(about("Group chats", "Behaviour in groups.")),
  tts: speechConfig.prefault({}).meta(about("Speech", "Answers as voice messages.")),
  labelRepeats: z
    .boolean()
    .default(true)
    .meta(
      about(
        "Label repeats",
        "Starts a message that may already be in the chat with `(possible repeat) `. The journal records it in any case.",
      ),
    ),
  pacing: pacingConfig.prefault({}).meta(about("Pacing", "Limits how fast the gateway sends.")),
  recovery: z
    .strictObject({
      maxAgeHours: z
        .number()
        .min(0.1)
        .max(8760)
        .default(6)
        .meta(
          about(
            "Age",
            "After an outage, messages older than this many hours are not answered; their chats get a notice.",
          ),
        ),
      maxRows: z
        .int()
        .min(1)
        .max(100_000)
        .default(200)
        .meta(
          about(
            "Count",
            "Most messages that a start answers. The oldest of more are treated like messages that are too old.",
          ),
        ),
    })
    .prefault({})
    .meta(about("Recovery", "Messages that an outage left unanswered.")),
  ackReaction: z
    .string()
    .default("")
    .meta(about("Reaction", "Emoji that the gateway puts under an accepted message; none when empty.")),
  ackReactionScope: z
    .enum(["group-mentions", "group-all", "direct", "all", "off", "none"])
    .default("group-mentions")
    .meta(about("Reaction scope", "Messages that get the reaction.")),
  removeAckAfterReply: z
    .boolean()
    .default(false)
    .meta(about("Remove reaction", "Removes the reaction when the message has its outcome.")),
});

/** `commands.*` */
export const commandsConfig = z.strictObject({
  text: z.boolean().default(true).meta(about("Text commands", "Treats messages that begin with `/` as commands.")),
  restart: z.boolean().default(true).meta(about("Restart", "Owners may restart the gateway with `/restart`.")),
  allowFrom: z
    .record(z.string(), idList)
    .prefault({})
    .meta(
      about(
        "Who may use commands",
        "Lists of senders by channel, as ids or `channel:id`. The key `*` is the list of channels without their own; " +
          "`*` in a list means everybody. Where a list applies, the senders in it may use every command except those " +
          "for owners (in groups too), and only they and owners may use commands. Without a list, " +
          "commands that change a conversation, such as `/new` and `/model`, or show what it holds, such as `/history`, " +
          "are for owners in groups, and for everybody in their own direct chat.",
      ),
    ),
  ownerAllowFrom: idList
    .prefault([])
    .meta(
      about(
        "Owners",
        "Senders who may approve commands, as ids or `channel:id`. Without owners, only the page and the command line may approve.",
      ),
    ),
});

/** `diagnostics.*` */
export const diagnosticsConfig = z.strictObject({
  stuckSessionWarnMs: milliseconds
    .min(1000)
    .default(120_000)
    .meta(
      about("Warn", "Milliseconds without progress of a turn after which the log and `openclaw status` report it."),
    ),
  stuckSessionAbortMs: milliseconds
    .min(1000)
    .default(600_000)
    .meta(
      about(
        "End",
        "Milliseconds without progress after which a turn is ended, so that the messages after it are answered. A model " +
          "call and a tool have limits of their own, and a question to a person waits for its answer.",
      ),
    ),
});

export type MessagesConfig = z.output<typeof messagesConfig>;
export type CommandsConfig = z.output<typeof commandsConfig>;
export type QueueSlice = MessagesConfig["queue"];

const id = z.union([z.string().min(1), z.number()]).transform(String);

const target = z.strictObject({
  channel: z.string().min(1).meta(about("Channel", "The channel that the question is sent through.")),
  to: id.meta(about("Chat", "The person or chat that gets the question, as in `openclaw message send --target`.")),
  accountId: id
    .optional()
    .meta(about("Account", "The account that sends it; the channel's default account when unset.")),
  threadId: id.optional().meta(about("Thread", "The thread or topic of the chat that gets it.")),
});

const filter = z.array(z.string().min(1));

const isFilter = makes(compilePattern);

const routing = (what: string) =>
  z.strictObject({
    enabled: z
      .boolean()
      .default(false)
      .meta(
        about(
          "Enabled",
          `Routes ${what} by \`mode\`. While false, a question is shown only in the chat that it is from.`,
        ),
      ),
    mode: z
      .enum(["session", "targets", "both"])
      .default("session")
      .meta(
        about(
          "Mode",
          "Where a question is shown: in the chat that it is from (`session`), in the chats of `targets`, or in `both`. " +
            "Operator clients always show it.",
        ),
      ),
    agentFilter: filter
      .prefault([])
      .meta(about("Agents", "Routes only questions of these agents; of all agents when empty.")),
    sessionFilter: z
      .array(z.string().min(1).refine(isFilter, "is no regular expression"))
      .prefault([])
      .meta(
        about(
          "Sessions",
          "Routes only questions of sessions whose key contains one of these texts or matches it as a regular expression; " +
            "of all sessions when empty.",
        ),
      ),
    targets: z.array(target).prefault([]).meta(about("Targets", "The chats that get a copy of the question.")),
  });

/** `approvals.*` */
export const approvalsConfig = z.strictObject({
  exec: routing("questions about commands")
    .prefault({})
    .meta(about("Commands", "Where questions about commands and other calls of tools are shown.")),
  plugin: routing("questions of plugins")
    .prefault({})
    .meta(about("Plugins", "Where the questions that plugins ask are shown.")),
});

export type ApprovalsConfig = z.output<typeof approvalsConfig>;
