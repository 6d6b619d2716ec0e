import type { FailureKind } from "../../types/run/run.ts";
import type { AuthConfig } from "../config.ts";
import { own } from "../../utils/own.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Minutes after the first, second, third and every further failure in a row. */
const STEPS = [1, 5, 25, 60] as const;
/** The longest wait that a provider may ask for. A longer figure is a mistake, and one probe a day costs nothing. */
const LONGEST_MS = 24 * HOUR;

export type CooldownSettings = AuthConfig["cooldowns"];

/** The failures that start a cooldown of a key at a model. After any other failure the key is as usable as before. */
export const COOLDOWN_KINDS = ["rate_limit", "overloaded", "timeout", "billing", "auth"] as const;
export type CooldownKind = (typeof COOLDOWN_KINDS)[number];

export const isCooldownKind = (kind: FailureKind): kind is CooldownKind =>
  COOLDOWN_KINDS.some((resting) => resting === kind);

interface Failed {
  readonly kind: CooldownKind;
  /** Failures in a row, this one counted. */
  readonly failures: number;
  readonly provider: string;
  readonly retryAfterMs?: number | undefined;
}

/** Milliseconds of a key's cooldown at a model. */
export function cooldownLength(
  { kind, failures, provider, retryAfterMs = 0 }: Failed,
  settings: CooldownSettings,
): number {
  const doubled = 2 ** Math.min(failures - 1, 20);
  if (kind === "billing") {
    const first = own(settings.billingBackoffHoursByProvider, provider) ?? settings.billingBackoffHours;
    return Math.min(first * doubled, Math.max(first, settings.billingMaxHours)) * HOUR;
  }
  if (kind === "auth") {
    const { authPermanentBackoffMinutes: first, authPermanentMaxMinutes: most } = settings;
    return Math.min(first * doubled, Math.max(first, most)) * MINUTE;
  }
  const step = (STEPS[failures - 1] ?? STEPS[3]) * MINUTE;
  return Math.min(Math.max(step, retryAfterMs), LONGEST_MS);
}
