import { OpenClawError } from "openclaw/plugin-sdk";
import type { LinkReport, SendResult } from "openclaw/plugin-sdk";
import { z } from "zod";

/** Something that time may mend. */
export class Trouble extends Error {
  override readonly name = "Trouble";
  /** What a person can do about it. */
  readonly fix: string | undefined;

  constructor(reason: string, { fix, cause }: { readonly fix?: string | undefined; readonly cause?: unknown } = {}) {
    super(reason, { cause });
    this.fix = fix;
  }
}

/** What the host learns of it; `retryInMs` where the next try is known. */
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
  /** Of a challenge that has to be solved before more is taken. */
  token: z.string().nullish(),
  retryAfterSeconds: z.number().nullish(),
});

/** What signal-cli says about a send: the message's timestamp, and how each recipient fared. */
export const sendReport = z.looseObject({
  timestamp: z.number().nullish(),
  results: z.array(recipientResult).nullish(),
});
export type SendReport = z.output<typeof sendReport>;
export type RecipientResult = z.output<typeof recipientResult>;

/** An error that signal-cli answered. The numbers are those of its SignalJsonRpcCommandHandler and of JSON-RPC. */
export interface CallError {
  readonly code: number;
  readonly message: string;
  readonly report?: SendReport;
}
const USER = -1;
const UNTRUSTED = -4;
const IO = -3;
const RATE_LIMIT = -5;
export const METHOD_NOT_FOUND = -32_601;
/** The request itself was not understood: -32600 to -32602. */
const isMisunderstood = (code: number): boolean => code <= -32_600 && code >= -32_602;

/** The network between signal-cli and Signal, as Java names what failed before a connection stood. */
const UNREACHED = /UnknownHost|ConnectException|NoRouteToHost|ConnectTimeout|Connection refused/i;
const LIMITED = /rate.?limit|\b(?:413|429)\b|ProofRequired|CAPTCHA proof/i;
const UNFIT = /AttachmentInvalid|too large|NoSuchFile|FileNotFound|InvalidNumber|not registered/i;

/** Did a send that signal-cli answered with an error arrive? */
export function outcomeOf({ code, message, report }: CallError): Unsent {
  const told = report?.results?.length ? outcomeOfResults(report.results) : undefined;
  if (told) return told;
  const reason = `signal-cli: ${message}`;
  if (code === RATE_LIMIT || LIMITED.test(message)) return { kind: "retry", reason, rateLimited: true };
  if (code === UNTRUSTED || code === USER || isMisunderstood(code) || UNFIT.test(message)) {
    return { kind: "refused", reason };
  }
  return UNREACHED.test(message) ? { kind: "retry", reason } : { kind: "unknown", reason };
}

/** Asked again, signal-cli may give what it could not give now. */
export const isPassing = (error: CallError): boolean => error.code === IO || outcomeOf(error).kind === "retry";

/** For a send that reached nobody; undefined when it reached somebody. */
export function outcomeOfResults(results: readonly RecipientResult[]): Unsent | undefined {
  if (results.some(({ type }) => type === "SUCCESS")) return undefined;
  const limited = results.find(isLimited);
  if (limited) return limitedOutcome(limited);
  // Signal's own client could not finish its request; whether the server has it, nobody says.
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
    reason: token ? "Signal asks for a captcha before it takes more messages" : "Signal takes no more messages now",
    rateLimited: true,
    ...(waits && { afterMs: (retryAfterSeconds ?? 0) * 1000 }),
  };
}

/** What the operator can do about a send that did not reach everybody. */
export interface Remedy {
  readonly problem: string;
  readonly fix: string;
}

export const nameOf = ({ recipientAddress: address }: RecipientResult): string =>
  address?.number ?? address?.uuid ?? address?.username ?? "the recipient";

/** A safety number that is new is to be compared by a person. */
export const untrusted = (who: string, account: string): Remedy => ({
  problem: `the safety number of ${who} has changed`,
  fix: `Compare it with ${who}, then run: signal-cli -a ${account} trust -v <safety number> ${who}`,
});

/** Signal took the message for others and not for this one; it is not sent again, as the others would see it twice. */
export const limited = (who: string): Remedy => ({
  problem: `a message to a group did not reach ${who}: Signal takes no more messages for now`,
  fix: "Let the account rest, or have it write less; what it sends later reaches everybody again.",
});

export const missed = (who: string, type: string): Remedy =>
  type === "UNREGISTERED_FAILURE"
    ? {
        problem: `messages to a group do not reach ${who}, who is not registered with Signal any more`,
        fix: `Have ${who} register again, or take ${who} out of the group.`,
      }
    : {
        problem: `a message to a group did not reach ${who} (${type})`,
        fix: "Say it again if it matters; the log of signal-cli may tell more.",
      };

export const challenge = (token: string, account: string): Remedy => ({
  problem: "Signal asks for a captcha",
  fix:
    "Solve https://signalcaptchas.org/challenge/generate.html, then run: " +
    `signal-cli -a ${account} submitRateLimitChallenge --challenge ${token} --captcha <the link behind "Open Signal">`,
});

export const unknownAccount = (message: string): OpenClawError =>
  new OpenClawError("CHANNEL_AUTH", {
    message,
    fix: "Register the number or link a device: signal-cli link -n openclaw, then scan the code with the phone.",
  });

/** As signal-cli says that it has no such account, or that Signal does not know it (any more). */
const UNKNOWN = /not registered|specified account does not exist|authorization failed|\[40[13]\]/i;
export const isUnknownAccount = (message: string): boolean => UNKNOWN.test(message);

export const badConfig = (message: string, fix: string, cause?: unknown): OpenClawError =>
  new OpenClawError("CHANNEL_CONFIG", { message, fix, cause });
