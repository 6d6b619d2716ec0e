import type { Check, CheckResult } from "../types/check.ts";
import { OpenClawError } from "../types/errors.ts";
import type { ConfiguredAccount } from "./ports.ts";

/** What an extension has beside its adapter: asks the platform who we are, without connecting. */
export interface Prober {
  /** The name of the account. Throws `OpenClawError` when its settings cannot work. */
  probe(config: unknown, signal: AbortSignal): Promise<string>;
}

/** For `openclaw doctor`: each enabled account asks its platform. `probers` by channel; one without is told as skipped. */
export function channelChecks(
  accounts: readonly ConfiguredAccount[],
  probers: Readonly<Record<string, Prober>>,
): readonly Check[] {
  return accounts.map((account) => ({
    id: `channel.${account.adapter.id}.${account.account}`,
    title: `${account.adapter.label} (${account.account})`,
    run: async (signal) => [await check(account, probers[account.adapter.id], signal)],
  }));
}

async function check(
  account: ConfiguredAccount,
  prober: Prober | undefined,
  signal: AbortSignal,
): Promise<CheckResult> {
  if (!account.enabled) return { status: "skip", message: "switched off" };
  if (!prober) return { status: "skip", message: "cannot be asked without connecting" };
  try {
    return { status: "ok", message: `answers as ${await prober.probe(account.config, signal)}` };
  } catch (error) {
    if (error instanceof OpenClawError) return { status: "fail", message: error.message, fix: error.fix };
    return {
      status: "warn",
      message: error instanceof Error ? error.message : String(error),
      fix: "Check the network of this machine.",
    };
  }
}
