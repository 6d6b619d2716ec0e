import type { Answers } from "openclaw/plugin-sdk/answers";
import { size } from "../model/format.ts";
import { t } from "../words/words.ts";

/** A request to the gateway outside of the chat. Rejects like `Connection.request`. */
export type Ask = <Method extends keyof Answers>(
  method: Method,
  params: Record<string, unknown>,
) => Promise<Answers[Method]>;

type Shown = NonNullable<Answers["channels.status"]["channelAccounts"]>[string][number];
type Reported = Answers["channels.capabilities"]["channels"][number];

/** An account of a chat platform, as the gateway reports it. */
export interface ReportedAccount {
  readonly channel: string;
  readonly label: string;
  readonly account: string;
  readonly state: string;
  /** Cause of a wait before the account can connect; empty when it does not wait. */
  readonly activity: string;
  readonly connected: boolean;
  /** Name of the account on the platform. */
  readonly name: string;
  /** Milliseconds since 1970 of the next attempt to connect, after a failure. */
  readonly retryAt?: number | undefined;
  /** Milliseconds since the platform last sent something. */
  readonly silentMs?: number | undefined;
  readonly error: string;
  /** How to solve `error`; empty when unknown. */
  readonly fix: string;
  /** Problems to solve while the account continues to work. */
  readonly notices: readonly string[];
  /** Whether the config has the account, so that it can be changed, switched on or off, and removed. */
  readonly configured: boolean;
  /** Whether the account can be linked with a code. */
  readonly login: boolean;
  /** Capabilities and limits of the account. */
  readonly capabilities: readonly Capability[];
}

/** A capability or limit of an account, as texts for people. */
export type Capability = readonly [name: string, value: string];

/** All accounts: the gateway's in its order, then accounts of the config that it has not started. */
export function reportedAccounts(
  { channelOrder = [], channelAccounts = {}, channelLabels = {} }: Answers["channels.status"],
  { channels: reported }: Answers["channels.capabilities"],
): readonly ReportedAccount[] {
  const known = channelOrder.flatMap((channel) =>
    (channelAccounts[channel] ?? []).map((row) => {
      const own = reported.find((one) => one.channel === channel && one.accountId === row.accountId);
      return { ...readAccount(row), channel, label: channelLabels[channel] ?? channel, ...readCapabilities(own) };
    }),
  );
  const notStarted = reported.flatMap((one) => {
    const { channel, label, accountId } = one;
    if (accountId === undefined || known.some((row) => row.channel === channel && row.account === accountId)) return [];
    return [{ ...readAccount({ accountId, enabled: false }), channel, label, ...readCapabilities(one) }];
  });
  return [...known, ...notStarted];
}

const readAccount = (row: Shown) => ({
  account: row.accountId,
  state: row.enabled === false ? "off" : (row.lifecycle ?? "unknown"),
  activity: row.activity ?? "",
  connected: row.connected === true,
  name: row.self?.name ?? "",
  retryAt: row.retryAt ?? undefined,
  silentMs: row.silentMs ?? undefined,
  error: row.lastError ?? "",
  fix: row.fix ?? "",
  notices: (row.notices ?? []).map(({ problem, fix }) => `${problem}. ${fix}`),
});

function readCapabilities(reported: Reported | undefined) {
  if (reported === undefined) return { configured: false, login: false, capabilities: [] };
  const { limits, silent, login, methods } = reported;
  const yes = (value: boolean): string => (value ? t("yes") : t("no"));
  const capabilities: readonly Capability[] = [
    [t("Format"), limits.format],
    [t("Maximum message length"), characters(limits.text)],
    [t("Maximum file size"), size(limits.media)],
    [t("Maximum caption length"), limits.caption === undefined ? t("no captions") : characters(limits.caption)],
    [t("Maximum files per message"), String(limits.album ?? 1)],
    [t("Silent messages"), yes(silent)],
    [t("Linked with a code"), yes(login)],
    [t("Connection methods"), methods === undefined ? t("not connected") : methods.join(", ")],
  ];
  return { configured: true, login, capabilities };
}

const characters = (count: number): string => t("{n} characters", { n: count });

/** The state of a login: its latest step, and its result. */
export interface LoginView extends Pick<Answers["channels.login.wait"], "loginId" | "next" | "state"> {
  /** The rows of the QR code, as digits 0 and 1. */
  readonly qr?: readonly string[] | undefined;
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}

/** Applies an answer of `channels.login.*` to the known state. A step replaces the step before. */
export function readLogin(answer: Answers["channels.login.wait"], before?: LoginView): LoginView {
  const { loginId, next, state, steps, error, fix } = answer;
  const known = { qr: before?.qr, code: before?.code, message: before?.message };
  const shown = steps.reduce<typeof known>((last, step) => {
    if (step.kind === "qr") return { qr: step.rows, code: undefined, message: undefined };
    if (step.kind === "code") return { qr: undefined, code: step.code, message: undefined };
    return { ...last, message: step.text };
  }, known);
  const end = [error, fix].filter((part) => part !== undefined).join(" ");
  return { ...shown, ...(end !== "" && { message: end }), loginId, next, state };
}

/** Step for a person after `channels.logout` if another program holds the link; undefined if the link is ended. */
export const remainingLink = ({ holder, fix = "" }: Answers["channels.logout"]): string | undefined =>
  holder === undefined ? undefined : `${holder} ${fix}`.trim();
