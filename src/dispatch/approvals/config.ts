import { z } from "zod";
import { about, makes } from "../../utils/config.ts";
import { compilePattern } from "../../utils/text/pattern.ts";

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
