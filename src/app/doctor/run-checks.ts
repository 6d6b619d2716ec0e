import type { Check, CheckResult } from "../../types/check.ts";
import { faultOf } from "../../utils/access-fault.ts";
import { errorText } from "../../utils/text/error-text.ts";

/** Results of one check. */
export interface CheckReport {
  readonly id: string;
  readonly title: string;
  readonly results: readonly CheckResult[];
  readonly durationMs: number;
}

/**
 * Most milliseconds of a check. All checks share one thread, and on a busy machine with few processors loading their
 * modules takes two seconds.
 */
const CHECK_MS = 5000;

/** Runs the checks in parallel. A check that throws or takes longer than `timeoutMs` has failed. Never rejects. */
export function runChecks(
  checks: readonly Check[],
  options: { timeoutMs?: number } = {},
): Promise<readonly CheckReport[]> {
  return Promise.all(checks.map((check) => runCheck(check, check.timeoutMs ?? options.timeoutMs ?? CHECK_MS)));
}

async function runCheck(check: Check, timeoutMs: number): Promise<CheckReport> {
  const begun = performance.now();
  const results = await resultsOf(check, timeoutMs);
  return { id: check.id, title: check.title, results, durationMs: Math.round(performance.now() - begun) };
}

async function resultsOf(check: Check, timeoutMs: number): Promise<readonly CheckResult[]> {
  const abort = new AbortController();
  const late = Promise.withResolvers<readonly CheckResult[]>();
  const timer = setTimeout(() => {
    abort.abort();
    late.resolve([
      {
        status: "fail",
        message: `No answer within ${timeoutMs} ms.`,
        fix: "Run the doctor again; if it stays, look at the gateway's log.",
      },
    ]);
  }, timeoutMs);
  try {
    return await Promise.race([start(check, abort.signal), late.promise]);
  } catch (error) {
    return [await failureOf(error)];
  } finally {
    clearTimeout(timer);
  }
}

// Asynchronous, so that a check that throws at once is a rejection like the others.
const start = async (check: Check, signal: AbortSignal) => check.run(signal);

async function failureOf(error: unknown): Promise<CheckResult> {
  const message = errorText(error);
  if (error instanceof Error && "fix" in error && typeof error.fix === "string")
    return { status: "fail", message, fix: error.fix };
  const denied = await faultOf(error);
  if (!denied) return { status: "fail", message };
  return { status: "fail", message: `${denied.path} cannot be used: ${denied.why}.`, fix: denied.fix };
}

export type Status = CheckResult["status"];

const GRADE: Readonly<Record<Status, number>> = { ok: 0, skip: 0, warn: 1, fail: 2 };

/** The gravest status of some results; `ok` when there are none. */
export function worst(results: readonly CheckResult[]): Status {
  return results.reduce<Status>((grave, { status }) => (GRADE[status] > GRADE[grave] ? status : grave), "ok");
}
