import { z } from "zod";
import { agentDefaultsConfig, agentEntryConfig } from "../harness/config.ts";
import { sandboxConfig } from "../tools/sandbox/config.ts";
import { THINK_LEVELS } from "../types/run/model.ts";
import { about } from "../utils/config.ts";
import { makes } from "../utils/makes.ts";
import { readDuration } from "../utils/time/duration.ts";

/**
 * Milliseconds of the longest interval. Timers hold no longer one, and a longer wait would mean no heartbeat at all.
 */
const MOST_MS = 7 * 24 * 60 * 60 * 1000;

const every = z.string().transform((text, context) => {
  const ms = readDuration(text);
  if (ms !== undefined && (ms === 0 || (ms >= 60_000 && ms <= MOST_MS))) return ms;
  context.addIssue({ code: "custom", message: "write it as 30m or 2h: from 1m to 7d, or 0m for never", input: text });
  return z.NEVER;
});

const CLOCK = /^(?:([01]?\d|2[0-3]):([0-5]\d)|24:00)$/;

/** Minutes since midnight. */
const timeOfDay = z
  .string()
  .regex(CLOCK, "write it as 08:00")
  .transform((text) => {
    const [hours = 0, minutes = 0] = text.split(":").map(Number);
    return hours * 60 + minutes;
  });

const isZone = makes((timeZone) => new Intl.DateTimeFormat("en", { timeZone }));

const activeHours = z.strictObject({
  start: timeOfDay.prefault("00:00").meta(about("Start", "Start of the active hours, such as `08:00`.")),
  end: timeOfDay
    .prefault("24:00")
    .meta(about("End", "End of the active hours, such as `22:00`. An end before the start is on the next day.")),
  timezone: z
    .string()
    .refine((text) => text === "user" || text === "local" || isZone(text), "is no time zone; write it as Europe/Vienna")
    .default("user")
    .meta(
      about("Time zone", "IANA name; `user` means `agents.defaults.userTimezone`, `local` the machine's time zone."),
    ),
});

/** Keys of a heartbeat. A key that an agent's own block does not set comes from `agents.defaults.heartbeat`. */
const shape = {
  every: every
    .optional()
    .meta(about("Every", "Interval between heartbeats; `30m` when unset, `0m` for never. A bare number is minutes.")),
  activeHours: activeHours
    .optional()
    .meta(about("Active hours", "Hours in which heartbeats run; always when unset.", { start: "08:00", end: "22:00" })),
  target: z
    .string()
    .min(1)
    .optional()
    .meta(
      about(
        "Target",
        "Where heartbeats report. `last`: the direct chat or page in which an owner last wrote. `none`: no chat. " +
          "Otherwise a channel, with `to`. `last` when unset.",
      ),
    ),
  to: z.string().min(1).optional().meta(about("To", "Chat on the target channel, as for `openclaw message send`.")),
  accountId: z
    .string()
    .min(1)
    .optional()
    .meta(about("Account", "Account of the target channel; its first when unset.")),
  directPolicy: z
    .enum(["allow", "block"])
    .optional()
    .meta(about("Direct chats", "`block` never sends to a direct chat. `allow` when unset.")),
  session: z
    .string()
    .min(1)
    .optional()
    .meta(about("Session", "Session of heartbeats that are not isolated; the target chat's when unset.")),
  isolatedSession: z
    .boolean()
    .optional()
    .meta(about("On its own", "Runs heartbeats without the conversation, which costs far less. True when unset.")),
  lightContext: z
    .boolean()
    .optional()
    .meta(about("Light context", "Shows only `HEARTBEAT.md` of the workspace's files. True when unset.")),
  model: z
    .string()
    .regex(/^[^/\s]+\/\S+$/, "write it as provider/model")
    .optional()
    .meta(about("Model", "Model of heartbeats, as `provider/model`; the agent's when unset.")),
  timeoutSeconds: z.int().min(1).max(86_400).optional().meta(about("Timeout", "Most seconds of one heartbeat.")),
  prompt: z
    .string()
    .min(1)
    .optional()
    .meta(
      about(
        "Prompt",
        "User text of a heartbeat. When set, heartbeats run even if `HEARTBEAT.md` is empty. The built-in text when unset.",
      ),
    ),
  includeSystemPromptSection: z
    .boolean()
    .optional()
    .meta(about("In the system prompt", "Explains heartbeats in the system prompt. True when unset.")),
  ackMaxChars: z
    .int()
    .min(0)
    .optional()
    .meta(
      about(
        "Remark",
        "Characters in addition to `HEARTBEAT_OK` that still count as nothing to report; 300 when unset.",
      ),
    ),
  skipWhenBusy: z
    .boolean()
    .optional()
    .meta(about("Skip when busy", "Skips a heartbeat while any run is active. False when unset.")),
};

const heartbeatConfig = z.strictObject(shape);
export type HeartbeatConfig = z.output<typeof heartbeatConfig>;

/** Keys for subagents in `agents.defaults` and in an agent's own entry. */
function ofSubagents() {
  return {
    allowAgents: z
      .array(z.string())
      .optional()
      .meta(
        about(
          "Agents",
          "Other agents that an agent may start as subagents, and that `agents_list` shows: ids, or `*` for all. None when unset.",
        ),
      ),
    requireAgentId: z
      .boolean()
      .optional()
      .meta(about("Name the agent", "`sessions_spawn` has to name an agent. False when unset.")),
    delegationMode: z
      .enum(["suggest", "prefer"])
      .optional()
      .meta(
        about(
          "Delegation",
          "`prefer`: the system prompt asks the agent to give work to subagents wherever that is possible. `suggest` when unset.",
        ),
      ),
    model: z
      .union([
        z.string(),
        z.strictObject({
          primary: z.string().optional().meta(about("Primary", "As the whole key when it is a text.")),
        }),
      ])
      .optional()
      .meta(about("Model", "Model of subagents, as `provider/model` or an alias; their agent's own when unset.")),
    thinking: z
      .enum(THINK_LEVELS)
      .optional()
      .meta(about("Thinking", "Thinking level of subagents; their agent's own when unset.")),
  };
}

const subagents = z.strictObject({
  maxConcurrent: z
    .int()
    .min(1)
    .default(8)
    .meta(
      about(
        "Concurrency",
        "Most runs of subagents at once, over all sessions; `agents.defaults.maxConcurrent` does not count them.",
      ),
    ),
  maxSpawnDepth: z
    .int()
    .min(1)
    .max(5)
    .default(1)
    .meta(about("Depth", "How deep subagents may nest: with 1, a subagent cannot have another one started.")),
  maxChildrenPerAgent: z
    .int()
    .min(1)
    .max(20)
    .default(5)
    .meta(about("Children", "Most subagents of one session that are at work at once.")),
  maxTotalPerSession: z
    .int()
    .min(0)
    .default(200)
    .meta(
      about(
        "Total",
        "Most subagents that one session can ever start, with the corrections of its agent; `0` for no limit.",
      ),
    ),
  archiveAfterMinutes: z
    .number()
    .min(0)
    .default(60)
    .meta(
      about(
        "Archive after",
        "Minutes after its start when a subagent's conversation is archived, once it has ended; `0` for never.",
      ),
    ),
  runTimeoutSeconds: z
    .number()
    .min(0)
    .default(0)
    .meta(about("Timeout", "Most seconds of a subagent's run; `0` for the limit of every run.")),
  ...ofSubagents(),
});

const entrySubagents = z.strictObject(ofSubagents());

const defaults = agentDefaultsConfig.extend({
  sandbox: sandboxConfig
    .optional()
    .meta(
      about("Sandbox", "Which sessions' commands and file tools are in a sandbox, and what they see of the machine."),
    ),
  subagents: subagents
    .prefault({})
    .meta(about("Subagents", "Runs that work for another run, in a conversation of their own.")),
  heartbeat: heartbeatConfig
    .prefault({})
    .meta(about("Heartbeat", "The agent regularly checks on what `HEARTBEAT.md` lists.")),
});

const entry = agentEntryConfig.extend({
  subagents: entrySubagents
    .optional()
    .meta(about("Subagents", "As in `agents.defaults.subagents`, which it overrides key by key.")),
  sandbox: sandboxConfig
    .optional()
    .meta(about("Sandbox", "As in `agents.defaults.sandbox`, which it overrides key by key.")),
  heartbeat: heartbeatConfig
    .optional()
    .meta(
      about(
        "Heartbeat",
        "As in `agents.defaults.heartbeat`, which it overrides. When any agent has this block, only agents with it have heartbeats.",
      ),
    ),
});

/** An agent of `entries`. The schema does not describe its keys again: they are the keys of a row of `list`. */
const named = z.unknown().pipe(entry.omit({ id: true }));

const shapeOfAgents = z.strictObject({
  defaults: defaults.prefault({}).meta(about("Defaults", "Settings of every agent.")),
  list: z
    .array(entry)
    .prefault([])
    .meta(
      about("List", "The agents. One agent named `main` when empty.", [
        { id: "main", default: true },
        { id: "research", model: "openai/gpt-5.1" },
      ]),
    ),
  entries: z
    .record(entry.shape.id, named)
    .prefault({})
    .meta(
      about(
        "Entries",
        "Agents by their ids, as newer versions of OpenClaw write them: each has the keys of an agent of `agents.list`. They follow those of `agents.list`.",
      ),
    ),
});

/** `agents.*`; the agents of `entries` are also in `list`, after its own agents. */
export const agentsConfig = shapeOfAgents.transform(({ list, entries, ...rest }) => ({
  ...rest,
  entries,
  list: [...list, ...Object.entries(entries).map(([id, own]) => ({ ...own, id }))],
}));

export type AgentsConfig = z.output<typeof agentsConfig>;
export type AgentEntry = z.output<typeof entry>;
