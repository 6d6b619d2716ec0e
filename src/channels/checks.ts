import type { Check, CheckResult } from "../types/check.ts";
import { OpenClawError } from "../types/errors.ts";
import { NotNow } from "../types/not-now.ts";
import { errorText } from "../utils/text/error-text.ts";
import { ownKeys } from "./own-keys.ts";
import type { ConfiguredAccount } from "./ports.ts";

/**
 * Checks of `openclaw doctor` that ask the platform of each enabled account. An account whose adapter cannot ask is
 * skipped.
 */
export function channelChecks(accounts: readonly ConfiguredAccount[]): readonly Check[] {
  return accounts.map((account) => ({
    id: `channel.${account.adapter.id}.${account.account}`,
    title: `${account.adapter.label} (${account.account})`,
    ...(account.adapter.probeMs !== undefined && { timeoutMs: account.adapter.probeMs }),
    run: async (signal) => [await checkAccount(account, signal)],
  }));
}

/** Asks the platform who the account is. Never throws. */
export async function checkAccount(account: ConfiguredAccount, signal: AbortSignal): Promise<CheckResult> {
  const { adapter, config, enabled, stopped } = account;
  if (!enabled) return { status: "skip", message: "disabled" };
  if (stopped) return { status: "fail", message: `is not started: ${stopped.reason}`, fix: stopped.fix };
  if (!adapter.probe) return { status: "skip", message: "this channel can only be checked by connecting" };
  try {
    return { status: "ok", message: `answers as ${await adapter.probe(config, signal)}` };
  } catch (error) {
    if (error instanceof OpenClawError) {
      return { status: "fail", message: ownKeys(error.message, account), fix: ownKeys(error.fix, account) };
    }
    const known = error instanceof NotNow ? error.fix : undefined;
    return {
      status: "warn",
      message: errorText(error),
      fix: ownKeys(known ?? "Check the network of this machine.", account),
    };
  }
}
