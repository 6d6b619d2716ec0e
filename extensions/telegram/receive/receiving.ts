import type { Intake } from "./intake.ts";
import type { Account } from "../account.ts";

/** Parts that polling and the webhook share. */
export interface Receiving {
  readonly account: Account;
  readonly intake: Intake;
  readonly signal: AbortSignal;
}

/** The name of the note with the URL of our webhook. */
export const WEBHOOK_NOTE = "webhook";
