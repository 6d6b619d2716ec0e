import { z } from "zod";
import { about } from "../utils/config.ts";

const resetRule = z.strictObject({
  mode: z
    .enum(["daily", "idle"])
    .optional()
    .meta(about("Mode", "`daily` begins anew at an hour, `idle` after a pause.")),
  atHour: z.int().min(0).max(23).optional().meta(about("Hour", "Local hour of the daily reset; 4 when unset.")),
  idleMinutes: z
    .int()
    .min(1)
    .optional()
    .meta(about("Idle minutes", "Minutes without a message after which it begins anew.")),
});

const action = z.enum(["allow", "deny"]);

/** `session.sendPolicy` */
const sendPolicyConfig = z.strictObject({
  default: action.default("allow").meta(about("Default", "For sessions that no rule fits.")),
  rules: z
    .array(
      z.strictObject({
        action: action.meta(about("Action", "`deny` keeps the sessions that fit from being answered.")),
        match: z
          .strictObject({
            channel: z.string().optional().meta(about("Channel", "Sessions of this channel.")),
            chatType: z
              .enum(["direct", "dm", "group", "channel"])
              .optional()
              .meta(about("Kind of chat", "`dm` is another name of `direct`, `channel` of `group`.")),
            keyPrefix: z.string().optional().meta(about("Key", "Sessions whose key begins with this.")),
            rawKeyPrefix: z.string().optional().meta(about("Key (raw)", "Another name of `keyPrefix`.")),
          })
          .prefault({})
          .meta(about("Match", "What a session must be for the rule to fit; all that is set must fit.")),
      }),
    )
    .prefault([])
    .meta(about("Rules", "A rule that denies goes before one that allows.")),
});

/** `session.*` */
export const sessionConfig = z.strictObject({
  scope: z
    .enum(["per-sender", "global"])
    .default("per-sender")
    .meta(
      about(
        "Scope",
        "`per-sender` leaves direct chats to `dmScope`. `global` gives each agent one session for all direct chats, whatever `dmScope` and " +
          "`bindings` say: everybody who may write to it reads what the others wrote. Groups keep sessions of their own.",
      ),
    ),
  dmScope: z
    .enum(["per-channel-peer", "per-account-channel-peer", "per-peer", "main"])
    .default("per-channel-peer")
    .meta(
      about(
        "Direct chats",
        "Which direct chats share a session: one per person and channel, also per account, one per person over all channels, " +
          "or one for everybody (`main`: strangers would read each other).",
      ),
    ),
  identityLinks: z
    .record(z.string(), z.array(z.string()))
    .prefault({})
    .meta(about("Identity links", "One person under several ids: a name with a list of `channel:senderId`.")),
  resetTriggers: z
    .array(z.string())
    .default(["/new", "/reset"])
    .meta(about("Reset triggers", "Messages that begin a new session.")),
  idleMinutes: z
    .int()
    .min(1)
    .optional()
    .meta(about("Idle minutes", "Begins a new session after so many minutes without a message. Off when unset.")),
  reset: resetRule.optional().meta(about("Reset", "When sessions begin anew by themselves. Never when unset.")),
  resetByType: z
    .strictObject({
      direct: resetRule.optional().meta(about("Direct", "Rule for direct chats.")),
      dm: resetRule.optional().meta(about("Direct (old name)", "Same as `direct`.")),
      group: resetRule.optional().meta(about("Group", "Rule for groups.")),
      thread: resetRule.optional().meta(about("Thread", "Rule for threads and topics.")),
    })
    .prefault({})
    .meta(about("Reset by type", "Rules by kind of chat, before `reset`.")),
  resetByChannel: z
    .record(z.string(), resetRule)
    .prefault({})
    .meta(about("Reset by channel", "Rules by channel, before the ones by type.")),
  dmHistoryLimit: z
    .int()
    .min(0)
    .optional()
    .meta(about("Direct history limit", "As `channels.<channel>.dmHistoryLimit`, for channels that do not set it.")),
  sendPolicy: sendPolicyConfig
    .optional()
    .meta(
      about("Send policy", "Which sessions are answered; all when unset. A session's own `sendPolicy` goes before it."),
    ),
});

export type SessionConfig = z.output<typeof sessionConfig>;
export type SendPolicyConfig = z.output<typeof sendPolicyConfig>;
