import { z } from "zod";
import { about } from "../utils/config.ts";
import { maintenanceConfig } from "./maintenance/config.ts";

const resetRule = z.strictObject({
  mode: z
    .enum(["daily", "idle", "none"])
    .optional()
    .meta(about("Mode", "`daily` begins a new conversation at an hour, `idle` after a pause, `none` never.")),
  atHour: z.int().min(0).max(23).optional().meta(about("Hour", "Local hour of the daily reset; 4 when unset.")),
  idleMinutes: z
    .int()
    .min(1)
    .optional()
    .meta(about("Idle minutes", "Minutes without a message after which a new conversation begins.")),
});

const action = z.enum(["allow", "deny"]);

/** `session.sendPolicy` */
const sendPolicyConfig = z.strictObject({
  default: action.default("allow").meta(about("Default", "Action for sessions that no rule matches.")),
  rules: z
    .array(
      z.strictObject({
        action: action.meta(about("Action", "`deny` leaves matching sessions unanswered.")),
        match: z
          .strictObject({
            channel: z.string().optional().meta(about("Channel", "Matches sessions of this channel.")),
            chatType: z
              .enum(["direct", "dm", "group", "channel"])
              .optional()
              .meta(about("Kind of chat", "Kind of chat. `dm` is another name for `direct`, `channel` for `group`.")),
            keyPrefix: z.string().optional().meta(about("Key", "Matches sessions whose key begins with this text.")),
            rawKeyPrefix: z.string().optional().meta(about("Key (raw)", "Another name for `keyPrefix`.")),
          })
          .prefault({})
          .meta(about("Match", "Conditions of the rule; all of them must hold.")),
      }),
    )
    .prefault([])
    .meta(about("Rules", "Rules for sessions. A rule that denies has priority over one that allows.")),
});

/** `session.*` */
export const sessionConfig = z.strictObject({
  scope: z
    .enum(["per-sender", "global"])
    .default("per-sender")
    .meta(
      about(
        "Scope",
        "`per-sender`: `dmScope` decides about direct chats. `global`: each agent has one session for all direct " +
          "chats, whatever `dmScope` and `bindings` say, and everybody who may write to it reads what the others wrote. " +
          "Groups keep their own sessions.",
      ),
    ),
  dmScope: z
    .enum(["per-channel-peer", "per-account-channel-peer", "per-peer", "main"])
    .default("per-channel-peer")
    .meta(
      about(
        "Direct chats",
        "Which direct chats share a session: one per person and channel (`per-channel-peer`), also per account " +
          "(`per-account-channel-peer`), one per person over all channels (`per-peer`), or one for everybody (`main`: " +
          "strangers could read each other's messages).",
      ),
    ),
  groupScope: z
    .enum(["per-group", "main"])
    .default("per-group")
    .meta(
      about("Groups", "Each group has its own session (`per-group`). `main` is known from OpenClaw and has no effect."),
    ),
  identityLinks: z
    .record(z.string(), z.array(z.string()))
    .prefault({})
    .meta(about("Identity links", "Ids of one person on several channels: a name with a list of `channel:senderId`.")),
  resetTriggers: z
    .array(z.string())
    .default(["/new", "/reset"])
    .meta(about("Reset triggers", "Messages that begin a new session.")),
  idleMinutes: z
    .int()
    .min(1)
    .optional()
    .meta(about("Idle minutes", "Minutes without a message after which a new session begins. Off when unset.")),
  reset: resetRule.optional().meta(about("Reset", "When sessions begin anew without a command. Never when unset.")),
  resetByType: z
    .strictObject({
      direct: resetRule.optional().meta(about("Direct", "Rule for direct chats.")),
      dm: resetRule.optional().meta(about("Direct (old name)", "Older name of `direct`.")),
      group: resetRule.optional().meta(about("Group", "Rule for groups.")),
      thread: resetRule.optional().meta(about("Thread", "Rule for threads and topics.")),
    })
    .prefault({})
    .meta(about("Reset by type", "Rules by kind of chat; they have priority over `reset`.")),
  resetByChannel: z
    .record(z.string(), resetRule)
    .prefault({})
    .meta(about("Reset by channel", "Rules by channel; they have priority over `resetByType`.")),
  dmHistoryLimit: z
    .int()
    .min(0)
    .optional()
    .meta(about("Direct history limit", "As in `channels.<channel>.dmHistoryLimit`, for channels that do not set it.")),
  typingMode: z
    .enum(["never", "instant", "thinking", "message"])
    .optional()
    .meta(about("Typing", "As `agents.defaults.typingMode`; has priority over it.")),
  typingIntervalSeconds: z
    .int()
    .min(1)
    .max(60)
    .optional()
    .meta(about("Typing interval", "As `agents.defaults.typingIntervalSeconds`; has priority over it.")),
  agentToAgent: z
    .strictObject({
      maxPingPongTurns: z
        .int()
        .min(0)
        .max(20)
        .default(5)
        .meta(
          about(
            "Answers",
            "Most answers that go back and forth between two agents after a message of `sessions_send`.",
          ),
        ),
    })
    .prefault({})
    .meta(about("Between agents", "Exchanges of the tool `sessions_send`.")),
  maintenance: maintenanceConfig
    .prefault({})
    .meta(about("Upkeep", "When sessions are put into the archive, and when old transcripts are removed.")),
  sendPolicy: sendPolicyConfig
    .optional()
    .meta(
      about("Send policy", "Which sessions are answered; all when unset. A session's own `sendPolicy` has priority."),
    ),
});

export type SessionConfig = z.output<typeof sessionConfig>;
export type SendPolicyConfig = z.output<typeof sendPolicyConfig>;
