import type { SessionKey } from "../ids.ts";
import type { ThinkLevel } from "../run/model.ts";

/**
 * When a job is due. `at`: once, ISO 8601 in UTC. `every`: from `anchorMs` on, every `everyMs`. `cron`: five or six fields in an IANA zone;
 * `staggerMs` spreads jobs over so many milliseconds, see `staggerOf`.
 */
export type CronSchedule =
  | { readonly kind: "at"; readonly at: string }
  | { readonly kind: "every"; readonly everyMs: number; readonly anchorMs: number }
  | { readonly kind: "cron"; readonly expr: string; readonly tz: string; readonly staggerMs?: number | undefined }
  | CronOnExit
  | CronStream;

/** Runs the job once, when a command ends that is started with the job. */
export interface CronOnExit {
  readonly kind: "on-exit";
  /** As the shell reads it. */
  readonly command: string;
  readonly cwd?: string | undefined;
}

/** Whenever a command that always runs has written lines. */
export interface CronStream {
  readonly kind: "stream";
  /** As `CronCommand.argv`. */
  readonly command: readonly string[];
  readonly cwd?: string | undefined;
  /** `match`: only lines that `match` fits. */
  readonly mode: "line" | "match";
  readonly match?: string | undefined;
  /** Lines that come within so many milliseconds of each other are one batch, of at most so many bytes. */
  readonly batchMs: number;
  readonly maxBatchBytes: number;
}

/** An agent's turn with its own prompt. */
export interface CronAgentTurn {
  readonly kind: "agentTurn";
  readonly message: string;
  /** `provider/model`. */
  readonly model?: string | undefined;
  /** Models that are asked after `model`. With `model` and without these, no other is asked. */
  readonly fallbacks?: readonly string[] | undefined;
  readonly thinking?: ThinkLevel | undefined;
  /** 0: no limit. An hour when unset. */
  readonly timeoutSeconds?: number | undefined;
  /** Whether the system prompt has no files of the workspace; true when unset. */
  readonly lightContext?: boolean | undefined;
  /** The only tools that the turn can have: names and groups, `*` for all. `CRON_TOOLS` when unset. */
  readonly toolsAllow?: readonly string[] | undefined;
}

/** A command that is run without asking a model; its output is the answer. */
export interface CronCommand {
  readonly kind: "command";
  /** The program and its arguments. `["sh", "-lc", text]` is a text for the shell. */
  readonly argv: readonly string[];
  /** Directory relative to the workspace; the workspace when unset. */
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Input of the command. */
  readonly input?: string | undefined;
  /** 600 when unset; 0 for as long as the config allows. */
  readonly timeoutSeconds?: number | undefined;
  /** Bytes of the output, the last ones, that are delivered. */
  readonly outputMaxBytes?: number | undefined;
}

/** A text for the agent's main conversation. */
interface CronSystemEvent {
  readonly kind: "systemEvent";
  readonly text: string;
  /** The only tools that the event's turn can have; those of the conversation when unset. */
  readonly toolsAllow?: readonly string[] | undefined;
}

export type CronPayload = CronSystemEvent | CronAgentTurn | CronCommand;

/** Where a message about a job goes. */
export interface CronDestination {
  readonly mode?: "announce" | "webhook" | undefined;
  /** Id of a channel; `last` is the chat in which an owner last wrote. */
  readonly channel?: string | undefined;
  /** A chat, or the address of a webhook. */
  readonly to?: string | undefined;
  readonly accountId?: string | undefined;
}

/** Destination of a run's answer. `none`: the answer remains in the run's transcript. */
export interface CronDelivery extends Omit<CronDestination, "mode"> {
  readonly mode: "none" | "announce" | "webhook";
  readonly threadId?: string | undefined;
  /** A failed delivery does not fail the run. */
  readonly bestEffort?: boolean | undefined;
  /** Destination of alerts about failures. */
  readonly failureDestination?: CronDestination | undefined;
  /** A webhook that is called in addition to the announcement. */
  readonly completionDestination?: { readonly mode: "webhook"; readonly to: string } | undefined;
}

export interface CronAlert extends CronDestination {
  /** Failures in a row before the first alert; 2 when unset. */
  readonly after?: number | undefined;
  /** Milliseconds between two alerts; an hour when unset. */
  readonly cooldownMs?: number | undefined;
  /** Skipped runs count, too. */
  readonly includeSkipped?: boolean | undefined;
}

/**
 * Rule for slots that passed while the gateway could not run them: none is run, the last one is run late, or each is.
 */
export type Missed = "skip" | "once" | "all";

interface CronTiming {
  readonly enabled: boolean;
  readonly schedule: CronSchedule;
  /** `once` when unset for `at` and for schedules of a day or more, else `skip`. */
  readonly missed?: Missed | undefined;
  /** Seconds after which a slot counts as missed; 120 when unset. */
  readonly graceSeconds?: number | undefined;
  /** A job that is due once is removed after it succeeded; true when unset. */
  readonly deleteAfterRun?: boolean | undefined;
  /** Durations between which a run may choose when the next one comes; it may not when unset. */
  readonly pacing?: { readonly min?: string | undefined; readonly max?: string | undefined } | undefined;
}

interface CronPlace {
  /** The default agent when unset. */
  readonly agentId?: string | undefined;
  /** The conversation in which the job was made. */
  readonly sessionKey?: SessionKey | undefined;
  /** `main`, `isolated` or `session:<key>`. */
  readonly sessionTarget: string;
  /** Applies to `systemEvent`: a turn begins at once, or the next turn of the conversation gets the text. */
  readonly wakeMode: "now" | "next-heartbeat";
}

/** Who made a job. */
export interface CronOwner {
  readonly agentId?: string | undefined;
  readonly sessionKey?: string | undefined;
  readonly accountId?: string | undefined;
}

/** Properties of a job that people and agents set. */
export interface CronWish extends CronTiming, CronPlace {
  readonly name: string;
  readonly displayName?: string | undefined;
  readonly description?: string | undefined;
  readonly payload: CronPayload;
  readonly delivery?: CronDelivery | undefined;
  /** `false`: no alerts. */
  readonly failureAlert?: CronAlert | false | undefined;
  /** Adding a job with the key of another one changes that one. */
  readonly declarationKey?: string | undefined;
  readonly owner?: CronOwner | undefined;
}

/** A job, without its history. */
export interface CronJob extends CronWish {
  /** UUID. */
  readonly id: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Grows with each change of the schedule and with each switch on; part of the key of a slot. */
  readonly scheduleRevision: number;
  /** The rights with which the job's turns act. */
  readonly setUpBy: "owner" | "guest";
}
