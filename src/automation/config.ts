import { z } from "zod";
import { agentDefaultsConfig, agentEntryConfig } from "../harness/config.ts";
import { about, makes } from "../utils/config.ts";
import { readDuration } from "../utils/duration.ts";

/** Timers hold no more, and a longer wait is none. */
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
  start: timeOfDay.prefault("00:00").meta(about("Start", "First minute of the day, as `08:00`.")),
  end: timeOfDay
    .prefault("24:00")
    .meta(about("End", "Where it ends, as `22:00`; before the start it goes on over midnight.")),
  timezone: z
    .string()
    .refine((text) => text === "user" || text === "local" || isZone(text), "is no time zone; write it as Europe/Vienna")
    .default("user")
    .meta(about("Time zone", "IANA name; `user` is `agents.defaults.userTimezone`, `local` the machine's.")),
});

/** One gives what the others leave open: an agent's own block lies over `agents.defaults.heartbeat`. */
const shape = {
  every: every
    .optional()
    .meta(about("Every", "From one look to the next; `30m` when unset, `0m` for never. A bare number is minutes.")),
  activeHours: activeHours
    .optional()
    .meta(about("Active hours", "When it looks; always when unset.", { start: "08:00", end: "22:00" })),
  target: z
    .string()
    .min(1)
    .optional()
    .meta(
      about(
        "Target",
        "Where it says what it found: `last` is the direct chat, or the page, that an owner last wrote in, `none` no chat, otherwise a " +
          "channel with `to`. `last` when unset.",
      ),
    ),
  to: z.string().min(1).optional().meta(about("To", "The chat on the target channel, as for `openclaw message send`.")),
  accountId: z.string().min(1).optional().meta(about("Account", "The target channel's account; its first when unset.")),
  directPolicy: z
    .enum(["allow", "block"])
    .optional()
    .meta(about("Direct chats", "`block` never writes into a direct chat. `allow` when unset.")),
  session: z
    .string()
    .min(1)
    .optional()
    .meta(about("Session", "The conversation it goes on in, when it is not on its own; the target chat's when unset.")),
  isolatedSession: z
    .boolean()
    .optional()
    .meta(
      about("On its own", "Looks without the conversation before its eyes, which costs far less. True when unset."),
    ),
  lightContext: z
    .boolean()
    .optional()
    .meta(about("Light context", "Of the workspace's files it reads `HEARTBEAT.md` alone. True when unset.")),
  model: z
    .string()
    .regex(/^[^/\s]+\/\S+$/, "write it as provider/model")
    .optional()
    .meta(about("Model", "`provider/model` for this alone; the agent's when unset.")),
  timeoutSeconds: z.int().min(1).max(86_400).optional().meta(about("Timeout", "Seconds that one look may take.")),
  prompt: z
    .string()
    .min(1)
    .optional()
    .meta(
      about(
        "Prompt",
        "What the agent is woken with, also when `HEARTBEAT.md` has nothing; the usual words when unset.",
      ),
    ),
  includeSystemPromptSection: z
    .boolean()
    .optional()
    .meta(about("In the system prompt", "The system prompt says what a heartbeat is. True when unset.")),
  ackMaxChars: z
    .int()
    .min(0)
    .optional()
    .meta(about("Remark", "Characters beside `HEARTBEAT_OK` that still count as nothing to say; 300 when unset.")),
  skipWhenBusy: z
    .boolean()
    .optional()
    .meta(about("Skip when busy", "Leaves a look out while any run goes on. False when unset.")),
};

const heartbeatConfig = z.strictObject(shape);
export type HeartbeatConfig = z.output<typeof heartbeatConfig>;

const defaults = agentDefaultsConfig.extend({
  heartbeat: heartbeatConfig
    .prefault({})
    .meta(about("Heartbeat", "From time to time the agent looks after what `HEARTBEAT.md` says.")),
});

const entry = agentEntryConfig.extend({
  heartbeat: heartbeatConfig
    .optional()
    .meta(
      about(
        "Heartbeat",
        "As in `agents.defaults.heartbeat`, over it. Once one agent has such a block, only those that have one are woken.",
      ),
    ),
});

/** `agents.*` */
export const agentsConfig = z.strictObject({
  defaults: defaults.prefault({}).meta(about("Defaults", "Settings of every agent.")),
  list: z
    .array(entry)
    .prefault([])
    .meta(
      about("List", "The agents; one named `main` when empty.", [
        { id: "main", default: true },
        { id: "research", model: "openai/gpt-5.1" },
      ]),
    ),
});

export type AgentsConfig = z.output<typeof agentsConfig>;
export type AgentEntry = z.output<typeof entry>;
