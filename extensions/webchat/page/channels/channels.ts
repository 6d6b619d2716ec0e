import { size } from "../model/format.ts";
import { fields, list, nonEmpty, number, strings, stringOr } from "../model/json.ts";

/** A request to the gateway outside of the chat. Rejects like `Connection.request`. */
export type Ask = (method: string, params: Record<string, unknown>) => Promise<unknown>;

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
export async function readChannels(ask: Ask): Promise<readonly ReportedAccount[]> {
  const status = fields(await ask("channels.status", {}));
  const reported = list(fields(await ask("channels.capabilities", {}))["channels"]).map(fields);
  const accounts = fields(status["channelAccounts"]);
  const labels = fields(status["channelLabels"]);
  const known = strings(status["channelOrder"]).flatMap((channel) =>
    list(accounts[channel]).map((item) => {
      const row = fields(item);
      const own = reported.find((one) => one["channel"] === channel && one["accountId"] === row["accountId"]);
      return { ...readAccount(row), channel, label: stringOr(labels[channel], channel), ...readCapabilities(own) };
    }),
  );
  const notStarted = reported.filter(
    (one) =>
      one["accountId"] !== undefined &&
      !known.some(({ channel, account }) => channel === one["channel"] && account === one["accountId"]),
  );
  return [...known, ...notStarted.map(readNotStarted)];
}

function readAccount(row: Record<string, unknown>) {
  const count = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
  return {
    account: stringOr(row["accountId"]),
    state: row["enabled"] === false ? "off" : stringOr(row["lifecycle"], "unknown"),
    activity: stringOr(row["activity"]),
    connected: row["connected"] === true,
    name: stringOr(fields(row["self"])["name"]),
    retryAt: count(row["retryAt"]),
    silentMs: count(row["silentMs"]),
    error: stringOr(row["lastError"]),
    fix: stringOr(row["fix"]),
    notices: list(row["notices"])
      .map(fields)
      .map(({ problem, fix }) => `${stringOr(problem)}. ${stringOr(fix)}`),
  };
}

function readNotStarted(reported: Record<string, unknown>): ReportedAccount {
  const channel = stringOr(reported["channel"]);
  const row = { accountId: reported["accountId"], enabled: false };
  return { ...readAccount(row), channel, label: stringOr(reported["label"], channel), ...readCapabilities(reported) };
}

function readCapabilities(reported: Record<string, unknown> | undefined) {
  if (reported === undefined) return { configured: false, login: false, capabilities: [] };
  const limits = fields(reported["limits"]);
  const { text: maxLength, media, caption, album = 1, format } = limits;
  const yes = (value: unknown): string => (value === true ? "yes" : "no");
  const capabilities: readonly Capability[] = [
    ["Format", stringOr(format, "plain")],
    ["Maximum message length", characters(maxLength)],
    ["Maximum file size", size(number(media))],
    ["Maximum caption length", caption === undefined ? "no captions" : characters(caption)],
    ["Maximum files per message", String(number(album, 1))],
    ["Silent messages", yes(reported["silent"])],
    ["Linked with a code", yes(reported["login"])],
    [
      "Connection methods",
      reported["methods"] === undefined ? "not connected" : strings(reported["methods"]).join(", "),
    ],
  ];
  return { configured: true, login: reported["login"] === true, capabilities };
}

const characters = (value: unknown): string => `${number(value).toLocaleString("en")} characters`;

/** The state of a login: its latest step, and its result. */
export interface LoginView {
  readonly loginId: string;
  readonly next: number;
  readonly state: "waiting" | "linked" | "failed";
  /** The rows of the QR code, as digits 0 and 1. */
  readonly qr?: readonly string[] | undefined;
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}

/** Applies an answer of `channels.login.*` to the known state. A step replaces the step before. */
export function readLogin(value: unknown, before?: LoginView): LoginView {
  const view = fields(value);
  const known = { qr: before?.qr, code: before?.code, message: before?.message };
  const shown = list(view["steps"])
    .map(fields)
    .reduce<typeof known>((last, step) => {
      if (step["kind"] === "qr") return { qr: strings(step["rows"]), code: undefined, message: undefined };
      if (step["kind"] === "code") return { qr: undefined, code: stringOr(step["code"]), message: undefined };
      return { ...last, message: stringOr(step["text"]) };
    }, known);
  const state = view["state"] === "linked" || view["state"] === "failed" ? view["state"] : "waiting";
  const next = typeof view["next"] === "number" ? view["next"] : (before?.next ?? 0);
  const end = [view["error"], view["fix"]].flatMap((part) => nonEmpty(part) ?? []).join(" ");
  return { ...shown, ...(end !== "" && { message: end }), loginId: stringOr(view["loginId"]), next, state };
}

/** Step for a person after `channels.logout` if another program holds the link; undefined if the link is ended. */
export function remainingLink(answer: unknown): string | undefined {
  const { holder, fix } = fields(answer);
  return nonEmpty(holder) === undefined ? undefined : `${stringOr(holder)} ${stringOr(fix)}`.trim();
}
