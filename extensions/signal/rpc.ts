import { answeredOutcome, thrownOutcome } from "openclaw/plugin-sdk";
import type { SendResult } from "openclaw/plugin-sdk";
import { z } from "zod";
import { badConfig, sendReport, Trouble, unknownAccount } from "./failures.ts";
import type { CallError, Unsent } from "./failures.ts";

/** The result of a call. `lost`: signal-cli did not answer; `outcome` is the result of the send. */
export type CallAnswer =
  | { readonly kind: "done"; readonly result: unknown }
  | { readonly kind: "error"; readonly error: CallError }
  | { readonly kind: "lost"; readonly outcome: Unsent; readonly fix?: string | undefined };

/** Why a call gave no result. */
export const whyNot = (answer: Exclude<CallAnswer, { kind: "done" }>): string =>
  answer.kind === "error" ? answer.error.message : answer.outcome.reason;

/** A `signal-cli daemon --http` (the man page signal-cli-jsonrpc(5) lists the three addresses). */
export interface Daemon {
  /** Makes a JSON-RPC call. Never rejects. */
  call(method: string, params: Readonly<Record<string, unknown>>, ends?: CallLimits): Promise<CallAnswer>;
  /** Throws `Trouble` when the daemon does not answer. */
  check(signal: AbortSignal): Promise<void>;
  /** The stream of events after an id. Throws `Trouble`, or `OpenClawError` when a retry is useless. */
  events(after: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>>;
}

/** When a call is given up; the configured timeout by default. */
export interface CallLimits {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** The default address of `signal-cli daemon --http`. */
export const DEFAULT_URL = "http://127.0.0.1:8080";

export const UNREACHED_FIX =
  "Start it there: signal-cli daemon --http. Or set channels.signal.httpUrl to where it listens.";

const CHECK_MS = 5000;

const rpcAnswer = z.looseObject({
  result: z.unknown().optional(),
  error: z
    .looseObject({
      code: z.number(),
      message: z.string().nullish(),
      data: z
        .looseObject({ response: sendReport.nullish().catch(undefined) })
        .nullish()
        .catch(undefined),
    })
    .nullish(),
});

export interface DaemonOptions {
  readonly timeoutMs: number;
  /** The account, for a daemon that serves several. */
  readonly account: () => string | undefined;
  /**
   * The step that a person can take when the daemon is not reachable; unset when the gateway starts signal-cli itself.
   */
  readonly unreachedFix?: string | undefined;
}

/** `base` is called for each request: the gateway's own signal-cli may restart on another port. */
export function openDaemon(base: () => string, options: DaemonOptions): Daemon {
  let number = 0;
  return {
    async call(method, params, { timeoutMs = options.timeoutMs, signal } = {}) {
      const account = options.account();
      const named = account === undefined ? params : { account, ...params };
      const body = JSON.stringify({ jsonrpc: "2.0", id: ++number, method, params: named });
      try {
        return await post(`${base()}/api/v1/rpc`, body, inTime(timeoutMs, signal));
      } catch (error) {
        return { kind: "lost", ...unreached(error, options) };
      }
    },
    async check(signal) {
      const answer = await reach(`${base()}/api/v1/check`, { signal: inTime(CHECK_MS, signal) }, options);
      if (!answer.ok) throw new Trouble(`signal-cli answers ${answer.status}`);
    },
    async events(after, signal) {
      const account = options.account();
      const query = account === undefined ? "" : `?account=${encodeURIComponent(account)}`;
      const headers = { accept: "text/event-stream", "last-event-id": after };
      const answer = await reach(`${base()}/api/v1/events${query}`, { headers, signal }, options);
      if (!answer.ok || answer.body === null) throw whyNoEvents(answer.status);
      return answer.body;
    },
  };
}

// Each call opens a connection: a reused one that the daemon has just closed would look like a lost answer.
const CLOSE = { connection: "close" };

const inTime = (ms: number, signal: AbortSignal | undefined): AbortSignal =>
  AbortSignal.any([AbortSignal.timeout(ms), ...(signal ? [signal] : [])]);

/** 400: the daemon does not have the account (any more). 421: the daemon was started with another address. */
function whyNoEvents(status: number): Error {
  if (status === 400) return unknownAccount("signal-cli does not know this account.");
  if (status !== 421) return new Trouble(`signal-cli gives no events (${status})`);
  const fix = "Start it with --http and the host and port of channels.signal.httpUrl.";
  return badConfig("signal-cli takes no requests for the host in channels.signal.httpUrl.", fix);
}

async function post(url: string, body: string, signal: AbortSignal): Promise<CallAnswer> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...CLOSE },
    body,
    signal,
  });
  if (!answer.ok) {
    await answer.body?.cancel();
    const { status, headers } = answer;
    const reason = `signal-cli answers ${status}`;
    return {
      kind: "lost",
      outcome: unsent(answeredOutcome({ status, reason, retryAfter: headers.get("retry-after") })),
    };
  }
  const text = await answer.text();
  return text === "" ? { kind: "done", result: undefined } : read(text);
}

/** Errors come with status 200. */
function read(text: string): CallAnswer {
  const { error, result } = rpcAnswer.parse(JSON.parse(text));
  if (!error) return { kind: "done", result };
  const report = error.data?.response ?? undefined;
  const message = error.message ?? "no reason given";
  return { kind: "error", error: { code: error.code, message, ...(report && { report }) } };
}

const lost = (error: unknown): Unsent => unsent(thrownOutcome(error, "signal-cli"));

const unsent = (outcome: SendResult): Unsent =>
  outcome.kind === "sent" ? { kind: "unknown", reason: "signal-cli did not say what became of it" } : outcome;

/** Result of a send for a call without an answer. */
function unreached(error: unknown, { unreachedFix }: DaemonOptions) {
  const outcome = lost(error);
  // After any other failure a program does listen at the address.
  return { outcome, fix: outcome.kind === "retry" ? unreachedFix : undefined };
}

async function reach(
  url: string,
  init: { headers?: Record<string, string>; signal: AbortSignal },
  options: DaemonOptions,
): Promise<Response> {
  try {
    return await fetch(url, { ...init, headers: { ...CLOSE, ...init.headers } });
  } catch (error) {
    const { outcome, fix } = unreached(error, options);
    throw new Trouble(outcome.reason, { fix, cause: error });
  }
}
