import { z } from "zod";
import { about, idList, makes, milliseconds, pacingConfig } from "../utils/config.ts";
import { compilePattern } from "../utils/text/pattern.ts";

const isPattern = makes(compilePattern);

/** `queue` is read as `followup`, and the two backlog modes as `steer` that keeps what did not reach the model. */
const queueMode = z.enum(["collect", "followup", "steer", "interrupt", "queue", "steer-backlog", "steer+backlog"]);

const queue = z.strictObject({
  mode: queueMode
    .default("collect")
    .meta(
      about(
        "Mode",
        "What a message does while a run goes on: `collect` waits and joins others into one turn, `followup` waits its turn, " +
          "`steer` reaches the running turn, `interrupt` ends it.",
      ),
    ),
  byChannel: z.record(z.string(), queueMode).prefault({}).meta(about("By channel", "Mode per channel.")),
  debounceMs: milliseconds
    .default(500)
    .meta(about("Debounce", "Milliseconds of quiet before queued messages become a turn.")),
  debounceMsByChannel: z
    .record(z.string(), milliseconds)
    .prefault({})
    .meta(about("Debounce by channel", "Milliseconds per channel.")),
  cap: z.int().min(1).default(20).meta(about("Cap", "Messages that may wait in one session.")),
  drop: z
    .enum(["summarize", "old", "new"])
    .default("summarize")
    .meta(
      about(
        "Drop",
        "Beyond the cap: refuse the oldest (`old`) or the newest (`new`), or tell the agent the oldest in a line each (`summarize`).",
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
        "Text before every answer. `{model}`, `{modelFull}`, `{provider}`, `{thinkingLevel}` and `{identity.name}` stand for who " +
          "answers; `auto` is `[{identity.name}]`.",
      ),
    ),
  queue: queue.prefault({}).meta(about("Queue", "Messages that come while the agent is at work.")),
  inbound: z
    .strictObject({
      debounceMs: milliseconds
        .default(0)
        .meta(about("Debounce", "Milliseconds in which messages of one sender become one turn.")),
      byChannel: z.record(z.string(), milliseconds).prefault({}).meta(about("By channel", "Milliseconds per channel.")),
    })
    .prefault({})
    .meta(about("Inbound", "Messages as they come in.")),
  groupChat: z
    .strictObject({
      mentionPatterns: z
        .array(z.string().refine(isPattern, "is no regular expression"))
        .prefault([])
        .meta(about("Mention patterns", "Regular expressions (without case) that count as a mention of the bot.")),
      historyLimit: z
        .int()
        .min(0)
        .default(50)
        .meta(about("History limit", "Unanswered group messages that are shown to the model with the next mention.")),
    })
    .prefault({})
    .meta(about("Group chats", "Behaviour in groups.")),
  labelRepeats: z
    .boolean()
    .default(true)
    .meta(
      about(
        "Label repeats",
        "A message that may be in the chat already begins with `(possible repeat) `. The journal knows it either way.",
      ),
    ),
  pacing: pacingConfig.prefault({}).meta(about("Pacing", "How quickly chats are written to, at most.")),
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
            "Hours since a message was written; after an outage older ones are not answered, and their chats are told.",
          ),
        ),
      maxRows: z
        .int()
        .min(1)
        .max(100_000)
        .default(200)
        .meta(
          about("Count", "Messages that a start answers at most; of more, the oldest are told like those too old."),
        ),
    })
    .prefault({})
    .meta(about("Recovery", "What becomes of messages that an outage left unanswered.")),
  ackReaction: z
    .string()
    .default("")
    .meta(about("Reaction", "Emoji put under a message that was accepted; none when empty.")),
  ackReactionScope: z
    .enum(["group-mentions", "group-all", "direct", "all", "off", "none"])
    .default("group-mentions")
    .meta(about("Reaction scope", "Which messages get the reaction.")),
  removeAckAfterReply: z
    .boolean()
    .default(false)
    .meta(about("Remove reaction", "Takes the reaction off once answered.")),
});

/** `commands.*` */
export const commandsConfig = z.strictObject({
  text: z.boolean().default(true).meta(about("Text commands", "Messages that begin with `/` are commands.")),
  allowFrom: z
    .record(z.string(), idList)
    .prefault({})
    .meta(
      about(
        "Who may use commands",
        "Lists of senders by channel, as ids or `channel:id`; the key `*` is the list of every channel without its own, and `*` in a list is " +
          "everybody. Where there is a list, whom it names may use every command but the owners' (in groups too), and others but owners may use none. " +
          "Without one, `/new`, `/reset`, `/model`, `/think` and `/compact` are for owners in groups, and for everybody in their own chat.",
      ),
    ),
  ownerAllowFrom: idList
    .prefault([])
    .meta(
      about(
        "Owners",
        "Senders who may approve commands, as ids or `channel:id`. Without any, only the page and the command line may.",
      ),
    ),
});

export type MessagesConfig = z.output<typeof messagesConfig>;
export type CommandsConfig = z.output<typeof commandsConfig>;
export type QueueConfig = MessagesConfig["queue"];
