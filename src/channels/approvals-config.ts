import { z } from "zod";
import { about, idList, makes } from "../utils/config.ts";
import { compilePattern } from "../utils/text/pattern.ts";

/** `channels.*.execApprovals`: who is asked about commands of a channel's chats, and where. */
export const execApprovalsConfig = z.strictObject({
  enabled: z
    .union([z.boolean(), z.literal("auto")])
    .default("auto")
    .meta(
      about(
        "Enabled",
        "`auto`: if there is somebody to ask. False: no chat of the channel shows a question; connected clients and `approvals.exec` do.",
      ),
    ),
  approvers: idList
    .prefault([])
    .meta(
      about(
        "Approvers",
        "The only people of this channel who may answer questions about commands, by their id; the owners of `commands.ownerAllowFrom` when empty.",
      ),
    ),
  agentFilter: z
    .array(z.string().min(1))
    .prefault([])
    .meta(about("Agents", "Applies `target` only to questions of these agents; of all agents when empty.")),
  sessionFilter: z
    .array(z.string().min(1).refine(makes(compilePattern), "is no regular expression"))
    .prefault([])
    .meta(
      about(
        "Sessions",
        "Applies `target` only to sessions whose key contains one of these texts or matches it as a regular expression; to all sessions when empty.",
      ),
    ),
  target: z
    .enum(["dm", "channel", "both"])
    .default("dm")
    .meta(
      about(
        "Target",
        "Where a question is shown: in the approvers' direct chats (`dm`), in the chat that it is from (`channel`), or in `both`.",
      ),
    ),
});
