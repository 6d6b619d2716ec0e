import { backoff } from "openclaw/plugin-sdk";
import { failureOf, isBadToken, TOKEN_FIX } from "../send/failures.ts";
import type { CallFailure } from "../send/failures.ts";
import { causeOf, StorageError } from "./intake.ts";
import type { Account } from "../account.ts";

/** A problem that only the operator can solve. */
export class Dead extends Error {
  readonly fix: string;
  constructor(reason: string, fix: string) {
    super(reason);
    this.fix = fix;
  }
}

/** A problem that may pass; retried. */
export class Trouble extends Error {
  readonly fix: string;
  constructor(reason: string, fix: string) {
    super(reason);
    this.fix = fix;
  }
}

/** Reports a failure to the host. Returns the milliseconds until the next attempt; undefined when there is none. */
export function reportFailure({ host }: Pick<Account, "host">, error: unknown, failures: number): number | undefined {
  const retryInMs = backoff(failures);
  if (error instanceof Dead) {
    host.report({ kind: "dead", reason: error.message, fix: error.fix });
    return undefined;
  }
  if (error instanceof StorageError) {
    host.report({ kind: "trouble", reason: `${error.message}: ${causeOf(error)}`, retryInMs });
    return retryInMs;
  }
  if (error instanceof Trouble) {
    host.report({ kind: "trouble", reason: error.message, fix: error.fix, retryInMs });
    return retryInMs;
  }
  const failure = failureOf(error);
  if (isBadToken(failure)) {
    host.report({ kind: "dead", reason: `Telegram refuses the bot token (${failure.text})`, fix: TOKEN_FIX });
    return undefined;
  }
  const ms = (failure.kind === "answered" ? failure.retryAfterMs : undefined) ?? retryInMs;
  host.report({ kind: "trouble", ...explain(failure), retryInMs: ms });
  return ms;
}

/** Telegram refuses polls while a webhook is set. */
export const isWebhook = (failure: CallFailure): boolean =>
  failure.kind === "answered" && failure.code === 409 && failure.text.toLowerCase().includes("webhook");

export function explain(failure: CallFailure): { readonly reason: string; readonly fix?: string } {
  if (isWebhook(failure)) {
    return {
      reason: "another program has set a webhook for this bot",
      fix: "Stop that program and set channels.telegram.takeOverWebhook: true, which removes the webhook. Or use another bot here.",
    };
  }
  if (failure.kind === "answered" && failure.code === 409) {
    return { reason: "another program polls this bot", fix: "Stop that program, or use another bot here." };
  }
  return {
    reason: failure.text,
    ...(failure.kind === "unreached" && failure.fix !== undefined && { fix: failure.fix }),
  };
}
