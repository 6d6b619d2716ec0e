import { OpenClawError } from "openclaw/plugin-sdk";
import type { LinkReport, SendResult } from "openclaw/plugin-sdk";
import { z } from "zod";

/** A problem that may pass; retried. */
export class Trouble extends Error {
  override readonly name = "Trouble";
  /** The step that a person can take about the problem. */
  readonly fix: string | undefined;

  constructor(reason: string, { fix, cause }: { readonly fix?: string | undefined; readonly cause?: unknown } = {}) {
    super(reason, { cause });
    this.fix = fix;
  }
}

/** The report of a failure to the host; `retryInMs` if the time of the next attempt is known. */
export function troubleReport(error: unknown, retryInMs?: number): LinkReport {
  const fix = error instanceof Trouble ? error.fix : undefined;
  return {
    kind: "trouble",
    reason: reasonOf(error),
    ...(fix !== undefined && { fix }),
    ...(retryInMs !== undefined && { retryInMs }),
  };
}

export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export type Unsent = Exclude<SendResult, { kind: "sent" }>;

const recipientResult = z.looseObject({
  recipientAddress: z
    .looseObject({ number: z.string().nullish(), uuid: z.string().nullish(), username: z.string().nullish() })
    .nullish(),
  type: z.string(),
  /** The token of a challenge that must be solved before Signal accepts more. */
  token: z.string().nullish(),
  retryAfterSeconds: z.number().nullish(),
});

/** signal-cli's report on a send: the message's timestamp and the result for each recipient. */
export const sendReport = z.looseObject({
  timestamp: z.number().nullish(),
  results: z.array(recipientResult).nullish(),
});
export type SignalSendReport = z.output<typeof sendReport>;
export type RecipientResult = z.output<typeof recipientResult>;

/** An error answer of signal-cli. The codes belong to its SignalJsonRpcCommandHandler and to JSON-RPC. */
export interface CallError {
  readonly code: number;
  readonly message: string;
  readonly report?: SignalSendReport;
}
const USER = -1;
const UNTRUSTED = -4;
const IO = -3;
const RATE_LIMIT = -5;
export const METHOD_NOT_FOUND = -32_601;
/** The request itself was invalid: -32600 to -32602. */
const isMisunderstood = (code: number): boolean => code <= -32_600 && code >= -32_602;

/** Java's names of failures before signal-cli was connected to Signal. */
const UNREACHED = /UnknownHost|ConnectException|NoRouteToHost|ConnectTimeout|Connection refused/i;
const LIMITED = /rate.?limit|\b(?:413|429)\b|ProofRequired|CAPTCHA proof/i;
const UNFIT = /AttachmentInvalid|too large|NoSuchFile|FileNotFound|InvalidNumber|not registered/i;

/** Result of a send for an error of signal-cli: whether the message may have arrived. */
export function outcomeOf({ code, message, report }: CallError): Unsent {
  const reported = report?.results?.length ? outcomeOfResults(report.results) : undefined;
  if (reported) return reported;
  const reason = `signal-cli: ${message}`;
  if (code === RATE_LIMIT || LIMITED.test(message)) return { kind: "retry", reason, rateLimited: true };
  if (code === UNTRUSTED || code === USER || isMisunderstood(code) || UNFIT.test(message)) {
    return { kind: "refused", reason };
  }
  return UNREACHED.test(message) ? { kind: "retry", reason } : { kind: "unknown", reason };
}

/** The same call may succeed later. */
export const isTemporary = (error: CallError): boolean => error.code === IO || outcomeOf(error).kind === "retry";

/** The result of a send that reached nobody; undefined when it reached somebody. */
export function outcomeOfResults(results: readonly RecipientResult[]): Unsent | undefined {
  if (results.some(({ type }) => type === "SUCCESS")) return undefined;
  const limited = results.find(isLimited);
  if (limited) return limitedOutcome(limited);
  // Signal's own client could not finish its request; the server may have the message.
  if (results.some(({ type }) => type === "NETWORK_FAILURE")) {
    return { kind: "unknown", reason: "signal-cli lost its connection to Signal while sending" };
  }
  if (results.some(({ type }) => type === "IDENTITY_FAILURE")) {
    return { kind: "refused", reason: "the recipient's safety number has changed and is not trusted" };
  }
  if (results.some(({ type }) => type === "UNREGISTERED_FAILURE")) {
    return { kind: "refused", reason: "the recipient is not registered with Signal" };
  }
  return { kind: "refused", reason: `signal-cli could not send (${results.map(({ type }) => type).join(", ")})` };
}

const isLimited = ({ type, token }: RecipientResult): boolean =>
  type === "RATE_LIMIT_FAILURE" || (token ?? undefined) !== undefined;

function limitedOutcome({ token, retryAfterSeconds }: RecipientResult): Unsent {
  const waits = (retryAfterSeconds ?? 0) > 0;
  return {
    kind: "retry",
    reason: token ? "Signal requires a captcha before it accepts more messages" : "Signal accepts no more messages now",
    rateLimited: true,
    ...(waits && { afterMs: (retryAfterSeconds ?? 0) * 1000 }),
  };
}

/** A reason why a send did not reach everybody, and the step that the operator can take. */
export interface SendProblem {
  readonly problem: string;
  readonly fix: string;
}

export const recipientName = ({ recipientAddress: address }: RecipientResult): string =>
  address?.number ?? address?.uuid ?? address?.username ?? "the recipient";

/** A person must compare a new safety number. */
export const untrusted = (who: string, account: string): SendProblem => ({
  problem: `the safety number of ${who} has changed`,
  fix: `Compare it with ${who}, then run: signal-cli -a ${account} trust -v <safety number> ${who}`,
});

/** Signal accepted the message for other recipients only. It is not sent again, as they would see it twice. */
export const limited = (who: string): SendProblem => ({
  problem: `a message to a group did not reach ${who}: Signal accepts no more messages now`,
  fix: "Wait, or have the account send less. Later messages reach everybody again.",
});

export const missed = (who: string, type: string): SendProblem =>
  type === "UNREGISTERED_FAILURE"
    ? {
        problem: `messages to a group do not reach ${who}, who is not registered with Signal any more`,
        fix: `Have ${who} register again, or take ${who} out of the group.`,
      }
    : {
        problem: `a message to a group did not reach ${who} (${type})`,
        fix: "Send the message again if it matters. The log of signal-cli may say more.",
      };

export const challenge = (token: string, account: string): SendProblem => ({
  problem: "Signal asks for a captcha",
  fix:
    "Solve https://signalcaptchas.org/challenge/generate.html, then run: " +
    `signal-cli -a ${account} submitRateLimitChallenge --challenge ${token} --captcha <the link behind "Open Signal">`,
});

/**
 * Reports a signal-cli whose events have no ids, so that the gateway cannot ask again for an event that was on its way.
 */
export const tooOld: SendProblem = {
  problem: "this signal-cli does not number its events: a message that arrives while the gateway is killed is lost",
  fix: "Update signal-cli to 0.14 or newer.",
};

export const unknownAccount = (message: string): OpenClawError =>
  new OpenClawError("CHANNEL_AUTH", {
    message,
    fix: "Register the number or link a device: signal-cli link -n openclaw, then scan the code with the phone.",
  });

/** signal-cli's errors when it does not have an account, or Signal does not know it (any more). */
const UNKNOWN = /not registered|specified account does not exist|authorization failed|\[40[13]\]/i;
export const isUnknownAccount = (message: string): boolean => UNKNOWN.test(message);

export const badConfig = (message: string, fix: string, cause?: unknown): OpenClawError =>
  new OpenClawError("CHANNEL_CONFIG", { message, fix, cause });
