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

/** What the present config says of scheduled jobs. */
export interface CronRules {
  readonly enabled: boolean;
  /** Slots that are under way at once; further ones begin when one of these has ended. */
  readonly maxConcurrentRuns: number;
  readonly timezone: string;
  readonly retry: CronRetries;
  /** Alerts of jobs that say nothing of them; undefined when nobody is told. */
  readonly failureAlert: CronAlert | undefined;
  /** Where alerts go that name no place. */
  readonly failureDestination: CronDestination | undefined;
  /** Repeated jobs that say nothing of missed slots skip them. */
  readonly skipsMissed: boolean;
  /** `cron.webhook`. */
  readonly webhook: string | undefined;
}

/** What the scheduler needs of the journal. */
export interface CronJournal {
  readonly cron: CronTable;
  readonly inbox: Pick<Inbox, "find" | "changes" | "open" | "ofRun">;
  readonly outbox: Pick<OutboxJournal, "of">;
  readonly runs: Pick<RunLedger, "find" | "last">;
}

/** How the scheduler reaches chats and webhooks. */
export interface CronReach {
  /** Where a job runs and reports, by the present config. `run`: names the slot. */
  placeOf(job: CronJob, run: string): CronPlace;
  /** Sends a text about a job to its owner or where the alert says. Resolves when it is in the outbox; rejects when there is no chat for it. */
  alert(job: CronJob, text: string, how: { readonly key: string; readonly to: CronDestination }): Promise<void>;
  /** Calls a webhook once. `unknown`: it may have arrived. */
  call(url: string, run: CronRun): Promise<{ readonly status: CronDeliveryStatus; readonly error?: string }>;
}

/** What the scheduler does with conversations. */
export interface CronSessions {
  /** The last thing that the agent said there; empty when it said nothing. */
  lastAnswer(key: SessionKey): Promise<string>;
  idOf(key: SessionKey): string | undefined;
  /** Adds a text to the next turn of a conversation. Resolves when it is durable. */
  tell(key: SessionKey, text: string): Promise<void>;
  /** Removes the conversation of a run. */
  remove(key: SessionKey): Promise<void>;
}

/** What clients hear of jobs. */
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
  /** Starts the command that a job watches. A text is the reason why it may not run. */
  watch(job: CronJob): Promise<WatchedCommand | string>;
  /** Resolves when the message is durable. */
  receive(messages: readonly InboundMessage[]): Promise<void>;
  publish(event: CronEvent): void;
}
