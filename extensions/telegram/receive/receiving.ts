import type { Intake } from "./intake.ts";
import type { Account } from "../account.ts";

/** What both ways to receive work with. */
export interface Receiving {
  readonly account: Account;
  readonly intake: Intake;
  readonly signal: AbortSignal;
}

/** Where the address of a webhook that we set is noted. */
export const WEBHOOK_NOTE = "webhook";
