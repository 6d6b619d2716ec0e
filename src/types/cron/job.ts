import { z } from "zod";
import { makes } from "../../utils/makes.ts";
import { readDuration } from "../../utils/time/duration.ts";
import { sessionKey } from "../ids.ts";
import type { Answer } from "../method.ts";
import { THINK_LEVELS } from "../run/model.ts";

const MOST_TEXT_CHARS = 20_000;
const MOST_WORDS = 200;
const DAY_SECONDS = 86_400;

const whole = z.int().min(0);
const word = z.string().trim().min(1).max(500);
const text = z.string().trim().min(1).max(MOST_TEXT_CHARS);
const directory = z.string().trim().min(1).max(4096);
const seconds = z.number().min(0);
/** One word of a command. */
const argument = z
  .string()
  .max(MOST_TEXT_CHARS)
  .refine((given) => !given.includes("\0"), "has a zero character");
const argv = z.array(argument).min(1).max(MOST_WORDS);

const isMadeFor = makes((timeZone) => new Intl.DateTimeFormat("en", { timeZone }));
/** Each check of a zone takes a tenth of a millisecond, and most jobs have the same one. */
const zones = new Set<string>();
const isZone = (name: string): boolean => zones.has(name) || (isMadeFor(name) && zones.add(name).has(name));

/** IANA name. */
export const cronZone = z.string().refine(isZone, "is no time zone; write it as Europe/Vienna");

/** One slot; ISO 8601 in UTC. */
export const cronAt = z.strictObject({ kind: z.literal("at"), at: z.string() });

/** A slot at `anchorMs` and after each `everyMs`, which people may write as a duration. */
const every = z.strictObject({
  kind: z.literal("every"),
  // A run of a shorter interval would begin before the run of the last one has answered.
  everyMs: z.preprocess(
    (given) => (typeof given === "string" ? readDuration(given) : given),
    z.int("write it as 30m or 2h").min(1000, "the shortest interval is a second"),
  ),
  anchorMs: whole,
});

/** Five or six fields in a zone. `staggerMs` spreads jobs over so many milliseconds, see `staggerOf`. */
const calendar = z.strictObject({
  kind: z.literal("cron"),
  expr: word,
  tz: cronZone,
  staggerMs: whole.max(DAY_SECONDS * 1000).optional(),
});

/** Runs the job once, when a command ends that is started with the job. The shell reads `command`. */
const onExit = z.strictObject({
  kind: z.literal("on-exit"),
  command: argument.trim().min(1),
  cwd: directory.optional(),
});
export type CronOnExit = Answer<z.output<typeof onExit>>;

const within = (least: number, most: number) => (value: number) => Math.min(Math.max(value, least), most);
const isExpression = makes((given) => new RegExp(given, "u"));
const expression = z.string().min(1).max(500).refine(isExpression, "is no regular expression");

/**
 * Whenever a command that always runs has written lines; with the mode `match`, lines that `match` fits. Lines that come
 * within `batchMs` of each other are one batch, of at most `maxBatchBytes`.
 */
const stream = z
  .strictObject({
    kind: z.literal("stream"),
    command: argv,
    cwd: directory.optional(),
    mode: z.enum(["line", "match"]).default("line"),
    match: expression.optional(),
    batchMs: z.int().default(250).transform(within(50, 5000)),
    maxBatchBytes: z.int().default(16_384).transform(within(1024, 65_536)),
  })
  .refine(({ mode, match }) => mode !== "match" || match !== undefined, {
    path: ["match"],
    message: "the mode match needs a regular expression",
  });
export type CronStream = Answer<z.output<typeof stream>>;

/** Kinds of schedules that are stored as they are given. */
export const cronKinds = [every, calendar, onExit, stream] as const;

/** The only tools that a turn can have: names and groups, `*` for all. */
const toolsAllow = z.array(word).max(MOST_WORDS).optional();

/** A text for the agent's main conversation. Without `toolsAllow`, its turn has the tools of the conversation. */
const systemEvent = z.strictObject({ kind: z.literal("systemEvent"), text, toolsAllow });

/** An agent's turn with its own prompt. */
const agentTurn = z.strictObject({
  kind: z.literal("agentTurn"),
  message: text,
  /** `provider/model`. */
  model: word.optional(),
  /** Models that are asked after `model`. With `model` and without these, no other is asked. */
  fallbacks: z.array(word).max(20).optional(),
  thinking: z.enum(THINK_LEVELS).optional(),
  /** 0: no limit. An hour when unset. */
  timeoutSeconds: seconds.max(7 * DAY_SECONDS).optional(),
  /** Leaves the files of the workspace out of the system prompt; true when unset. */
  lightContext: z.boolean().optional(),
  /** `CRON_TOOLS` when unset. */
  toolsAllow,
});
export type CronAgentTurn = Answer<z.output<typeof agentTurn>>;

/** A command that is run without asking a model; its output is the answer. */
const command = z.strictObject({
  kind: z.literal("command"),
  /** The program and its arguments. `["sh", "-lc", text]` is a text for the shell. */
  argv: argv.refine(([program = ""]) => program.trim() !== "", "begins with no program"),
  /** Directory relative to the workspace; the workspace when unset. */
  cwd: directory.optional(),
  env: z.record(z.string().min(1).max(MOST_WORDS), argument).optional(),
  /** Input of the command. */
  input: argument.optional(),
  /** 600 when unset; 0 for as long as the config allows. */
  timeoutSeconds: seconds.max(7 * DAY_SECONDS).optional(),
  /** Bytes of the output, the last ones, that are delivered. */
  outputMaxBytes: z.int().min(1).max(50_000).optional(),
});
export type CronCommand = Answer<z.output<typeof command>>;

/** Destination of a message about a job. */
const destination = z.strictObject({
  mode: z.enum(["announce", "webhook"]).optional(),
  /** Id of a channel; `last` is the chat in which an owner last wrote. */
  channel: word.optional(),
  /** A chat, or the address of a webhook. */
  to: word.optional(),
  accountId: word.optional(),
});
export type CronDestination = Answer<z.output<typeof destination>>;

/** Destination of a run's answer. `none`: the answer remains in the run's transcript. */
const delivery = z
  .strictObject({
    ...destination.shape,
    mode: z.enum(["none", "announce", "webhook"]).default("announce"),
    threadId: z
      .union([z.string().min(1), z.int()])
      .transform(String)
      .optional(),
    /** A failed delivery does not fail the run. */
    bestEffort: z.boolean().optional(),
    /** Destination of alerts about failures. */
    failureDestination: destination.optional(),
    /** A webhook that is called in addition to the announcement. */
    completionDestination: z
      .strictObject({ mode: z.literal("webhook"), to: z.url({ protocol: /^https?$/ }) })
      .optional(),
  })
  .refine(({ mode, to }) => mode !== "webhook" || (to !== undefined && /^https?:\/\//.test(to)), {
    path: ["to"],
    message: "a webhook needs the address to call, as https://…",
  });

const alert = destination.extend({
  /** Failures in a row before the first alert; 2 when unset. */
  after: z.int().min(1).max(100).optional(),
  /** Milliseconds between two alerts; an hour when unset. */
  cooldownMs: whole.optional(),
  /** Skipped runs count, too. */
  includeSkipped: z.boolean().optional(),
});
export type CronAlert = Answer<z.output<typeof alert>>;

const span = z
  .string()
  .refine((given) => (readDuration(given) ?? 0) > 0, "write it as 15m or 4h")
  .optional();

/** Durations between which a run may choose when the next one comes. */
const pacing = z
  .strictObject({ min: span, max: span })
  .refine(({ min, max }) => min !== undefined || max !== undefined, "give min, max or both")
  .refine(
    ({ min, max }) => !min || !max || (readDuration(min) ?? 0) <= (readDuration(max) ?? 0),
    "min is longer than max",
  );

/** Properties of a job that people and agents set. */
export const cronWish = z.object({
  name: z.string().trim().min(1).max(200),
  displayName: z.string().max(200).optional(),
  description: z.string().max(2000).optional(),
  enabled: z.boolean().default(true),
  /** Unset: no run may choose its next time. */
  pacing: pacing.optional(),
  /** A job that is due once is removed after it succeeded; true when unset. */
  deleteAfterRun: z.boolean().optional(),
  /**
   * Rule for slots that passed while the gateway could not run them: none is run, the last one is run late, or each is. `once` when unset for
   * `at` and for schedules of a day or more, else `skip`.
   */
  missed: z.enum(["skip", "once", "all"]).optional(),
  /** Seconds after which a slot counts as missed; 120 when unset. */
  graceSeconds: whole.max(7 * DAY_SECONDS).optional(),
  /** The default agent when unset. */
  agentId: word.optional(),
  /** The conversation in which the job was made. */
  sessionKey: word
    .regex(/^\P{Cc}+$/u, "has control characters")
    .transform(sessionKey)
    .optional(),
  /** `main`, `isolated` or `session:<key>`. */
  sessionTarget: z.string(),
  /** Applies to `systemEvent`: a turn begins at once, or the next turn of the conversation gets the text. */
  wakeMode: z.enum(["now", "next-heartbeat"]).default("now"),
  schedule: z.discriminatedUnion("kind", [cronAt, ...cronKinds]),
  payload: z.discriminatedUnion("kind", [systemEvent, agentTurn, command]),
  delivery: delivery.optional(),
  /** `false`: no alerts. */
  failureAlert: z.union([z.literal(false), alert]).optional(),
  /** Adding a job with the key of another one changes that one. */
  declarationKey: word.max(200).optional(),
  /** Author of the job. */
  owner: z.object({ agentId: z.string(), sessionKey: z.string(), accountId: z.string() }).partial().optional(),
});
export type CronWish = Answer<z.output<typeof cronWish>>;
export type CronSchedule = CronWish["schedule"];
export type CronPayload = CronWish["payload"];

/** A job of the journal, without its history. Jobs of other versions may have more fields. */
export const cronJob = z.looseObject({
  ...cronWish.shape,
  schedule: z.discriminatedUnion("kind", [
    cronAt.loose(),
    every.loose(),
    calendar.loose(),
    onExit.loose(),
    stream.loose(),
  ]),
  payload: z.discriminatedUnion("kind", [systemEvent.loose(), agentTurn.loose(), command.loose()]),
  delivery: delivery.loose().optional(),
  /** UUID, or the id that the job had in another gateway. */
  id: z.string(),
  createdAtMs: z.number(),
  updatedAtMs: z.number(),
  /** Grows with each change of the schedule and with each switch on; part of the key of a slot. */
  scheduleRevision: z.number(),
  /** The rights with which the job's turns act. */
  setUpBy: z.enum(["owner", "guest"]),
});
export type CronJob = Answer<z.output<typeof cronJob>>;

/** The first thing that is wrong with a job, with its field. */
export function problemIn({ issues: [issue] }: z.ZodError): string {
  const place = issue?.path.join(".") ?? "";
  return place === "" ? (issue?.message ?? "it cannot be read") : `${place}: ${issue?.message}`;
}
