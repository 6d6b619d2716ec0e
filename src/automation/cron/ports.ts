import type { Clock } from "../../types/clock.ts";
import type { CronAlert, CronDestination, CronJob } from "../../types/cron/job.ts";
import type { CronDeliveryStatus, CronRun } from "../../types/cron/run.ts";
import type { CronTable } from "../../types/cron/table.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { Inbox, OutboxJournal, RunLedger } from "../../types/journal.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import type { Log } from "../../types/log.ts";
import type { CronRetries } from "./after-run.ts";
import type { CronPlace } from "./cron-message.ts";
import type { WatchedCommand } from "./watch/watch.ts";

/** Settings of the present config for scheduled jobs. */
export interface CronRules {
  readonly enabled: boolean;
  /** Number of slots that may be under way at once; further ones begin when one of these has ended. */
  readonly maxConcurrentRuns: number;
  readonly timezone: string;
  readonly retry: CronRetries;
  /** Alert rules of jobs that have none; undefined when nobody gets an alert. */
  readonly failureAlert: CronAlert | undefined;
  /** Place of alerts that name none. */
  readonly failureDestination: CronDestination | undefined;
  /** True when repeated jobs without a rule for missed slots skip them. */
  readonly skipsMissed: boolean;
  /** `cron.webhook`. */
  readonly webhook: string | undefined;
}

/** Parts of the journal that the scheduler uses. */
export interface CronJournal {
  readonly cron: CronTable;
  readonly inbox: Pick<Inbox, "find" | "changes" | "open" | "ofRun">;
  readonly outbox: Pick<OutboxJournal, "of">;
  readonly runs: Pick<RunLedger, "find" | "last">;
}

/** Access of the scheduler to chats and webhooks. */
export interface CronReach {
  /** The conversation and chat of a job, by the present config. `run`: the name of the slot. */
  placeOf(job: CronJob, run: string): Promise<CronPlace>;
  /**
   * Sends a text about a job to its owner or to the place of the alert. Resolves when the text is in the outbox;
   * rejects when there is no chat for it.
   */
  alert(job: CronJob, text: string, how: { readonly key: string; readonly to: CronDestination }): Promise<void>;
  /** Calls a webhook once. `unknown`: the call may have arrived. */
  call(url: string, run: CronRun): Promise<{ readonly status: CronDeliveryStatus; readonly error?: string }>;
}

/** Operations of the scheduler on conversations. */
export interface CronSessions {
  /** The last text of the agent in a turn of a conversation; empty when there is none. */
  answerOf(key: SessionKey, turnId: string): Promise<string>;
  idOf(key: SessionKey): string | undefined;
  /** Adds a text to the next turn of a conversation. Resolves when it is durable. */
  tell(key: SessionKey, text: string): Promise<void>;
  /** Removes the conversation of a run. */
  remove(key: SessionKey): Promise<void>;
}

/** Event about a job for clients. */
export interface CronEvent {
  readonly jobId: string;
  readonly action: "added" | "updated" | "removed" | "started" | "finished";
  readonly [field: string]: unknown;
}

export interface CronPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly journal: CronJournal;
  readonly reach: CronReach;
  readonly sessions: CronSessions;
  rules(): CronRules;
  /** Starts the command that a job watches. Resolves with a text, the reason, when the command may not run. */
  watch(job: CronJob): Promise<WatchedCommand | string>;
  /** Resolves when the message is durable. */
  receive(messages: readonly InboundMessage[]): Promise<void>;
  publish(event: CronEvent): void;
}
