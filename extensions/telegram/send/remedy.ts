import { backoff } from "openclaw/plugin-sdk";
import { failureOf, isBadToken, TOKEN_FIX } from "./failures.ts";
import type { Failure } from "./failures.ts";
import { causeOf, NotStored } from "../receive/intake.ts";
import type { Room } from "../room.ts";

/** A refusal that only the operator can end. */
export class Dead extends Error {
  readonly fix: string;
  constructor(reason: string, fix: string) {
    super(reason);
    this.fix = fix;
  }
}

/** Something is in the way, and its message says what. */
export class Trouble extends Error {}

/** Tells the host what is wrong. Milliseconds until the next try; undefined when there is none. */
export function remedy({ host }: Pick<Room, "host">, error: unknown, failures: number): number | undefined {
  const retryInMs = backoff(failures);
  if (error instanceof Dead) {
    host.report({ kind: "dead", reason: error.message, fix: error.fix });
    return undefined;
  }
  if (error instanceof NotStored) {
    host.report({ kind: "trouble", reason: `${error.message}: ${causeOf(error)}`, retryInMs });
    return retryInMs;
  }
  if (error instanceof Trouble) {
    host.report({ kind: "trouble", reason: error.message, retryInMs });
    return retryInMs;
  }
  const failure = failureOf(error);
  if (isBadToken(failure)) {
    host.report({ kind: "dead", reason: `Telegram refuses the bot token (${failure.text})`, fix: TOKEN_FIX });
    return undefined;
  }
  const ms = (failure.kind === "answered" ? failure.retryAfterMs : undefined) ?? retryInMs;
  host.report({ kind: "trouble", reason: explain(failure), retryInMs: ms });
  return ms;
}

/** Polling is refused for as long as a webhook is set. */
export const isWebhook = (failure: Failure): boolean =>
  failure.kind === "answered" && failure.code === 409 && failure.text.toLowerCase().includes("webhook");

function explain(failure: Failure): string {
  if (isWebhook(failure)) {
    return "another program has set a webhook for this bot; channels.telegram.takeOverWebhook: true removes it";
  }
  if (failure.kind === "answered" && failure.code === 409) {
    return "another program polls this bot; stop it, or use a token of its own here";
  }
  return failure.text;
}
