import { size } from "../format.ts";
import { fields, list, number, text, word, words } from "../protocol/json.ts";

/** A request to the gateway outside of the chat. Rejects like `Connection.request`. */
export type Ask = (method: string, params: Record<string, unknown>) => Promise<unknown>;

/** One account of a chat platform, as the gateway reports it. */
export interface ChannelAccount {
  readonly channel: string;
  readonly label: string;
  readonly account: string;
  readonly state: string;
  /** What it waits for before it can connect; empty when it does not wait. */
  readonly activity: string;
  readonly connected: boolean;
  /** Its name on the platform. */
  readonly name: string;
  /** Milliseconds since 1970 of the next attempt, while in trouble. */
  readonly retryAt?: number | undefined;
  /** Milliseconds since the platform's last sign of life. */
  readonly silentMs?: number | undefined;
  readonly error: string;
  /** What a person can do about `error`; empty when unknown. */
  readonly fix: string;
  /** Problems to solve while it continues to work. */
  readonly notices: readonly string[];
  /** The config has it: it can be changed, switched on or off, and removed. */
  readonly configured: boolean;
  /** It can be linked with a code. */
  readonly login: boolean;
  /** Its capabilities: a name and a short text each. */
  readonly abilities: readonly Ability[];
}

/** One capability or limit of an account. */
export type Ability = readonly [name: string, words: string];

/** All accounts: the gateway's in its order, then those of the config that it has not started. */
export async function readChannels(ask: Ask): Promise<readonly ChannelAccount[]> {
  const status = fields(await ask("channels.status", {}));
  const able = list(fields(await ask("channels.capabilities", {}))["channels"]).map(fields);
  const accounts = fields(status["channelAccounts"]);
  const labels = fields(status["channelLabels"]);
  const known = words(status["channelOrder"]).flatMap((channel) =>
    list(accounts[channel]).map((item) => {
      const row = fields(item);
      const own = able.find((one) => one["channel"] === channel && one["accountId"] === row["accountId"]);
      return { ...readAccount(row), channel, label: text(labels[channel], channel), ...readAbilities(own) };
    }),
  );
  const resting = able.filter(
    (one) =>
      one["accountId"] !== undefined &&
      !known.some(({ channel, account }) => channel === one["channel"] && account === one["accountId"]),
  );
  return [...known, ...resting.map(readResting)];
}

function readAccount(row: Record<string, unknown>) {
  const count = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
  return {
    account: text(row["accountId"]),
    state: row["enabled"] === false ? "off" : text(row["lifecycle"], "unknown"),
    activity: text(row["activity"]),
    connected: row["connected"] === true,
    name: text(fields(row["self"])["name"]),
    retryAt: count(row["retryAt"]),
    silentMs: count(row["silentMs"]),
    error: text(row["lastError"]),
    fix: text(row["fix"]),
    notices: list(row["notices"])
      .map(fields)
      .map(({ problem, fix }) => `${text(problem)}. ${text(fix)}`),
  };
}

function readResting(able: Record<string, unknown>): ChannelAccount {
  const channel = text(able["channel"]);
  const row = { accountId: able["accountId"], enabled: false };
  return { ...readAccount(row), channel, label: text(able["label"], channel), ...readAbilities(able) };
}

function readAbilities(able: Record<string, unknown> | undefined) {
  if (able === undefined) return { configured: false, login: false, abilities: [] };
  const limits = fields(able["limits"]);
  const { text: most, media, caption, album = 1, format } = limits;
  const yes = (value: unknown): string => (value === true ? "yes" : "no");
  const abilities: readonly Ability[] = [
    ["Format", text(format, "plain")],
    ["One message", characters(most)],
    ["One file", size(number(media))],
    ["Text below a file", caption === undefined ? "no" : characters(caption)],
    ["Files in one message", String(number(album, 1))],
    ["Without a sound", yes(able["silent"])],
    ["Linked by a code", yes(able["login"])],
    ["Its connection", able["methods"] === undefined ? "not connected" : words(able["methods"]).join(", ")],
  ];
  return { configured: true, login: able["login"] === true, abilities };
}

const characters = (value: unknown): string => `${number(value).toLocaleString("en")} characters`;

/** The state of a login: the latest step, and the end. */
export interface LoginView {
  readonly loginId: string;
  readonly next: number;
  readonly state: "waiting" | "linked" | "failed";
  /** Lines of 0 and 1. */
  readonly qr?: readonly string[] | undefined;
  readonly code?: string | undefined;
  readonly told?: string | undefined;
}

/** Applies an answer of `channels.login.*` to the known state; a step replaces the one before. */
export function readLogin(value: unknown, before?: LoginView): LoginView {
  const view = fields(value);
  const known = { qr: before?.qr, code: before?.code, told: before?.told };
  const shown = list(view["steps"])
    .map(fields)
    .reduce<typeof known>((last, step) => {
      if (step["kind"] === "qr") return { qr: words(step["rows"]), code: undefined, told: undefined };
      if (step["kind"] === "code") return { qr: undefined, code: text(step["code"]), told: undefined };
      return { ...last, told: text(step["text"]) };
    }, known);
  const state = view["state"] === "linked" || view["state"] === "failed" ? view["state"] : "waiting";
  const next = typeof view["next"] === "number" ? view["next"] : (before?.next ?? 0);
  const end = [view["error"], view["fix"]].flatMap((part) => word(part) ?? []).join(" ");
  return { ...shown, ...(end !== "" && { told: end }), loginId: text(view["loginId"]), next, state };
}

/** The program that holds a link which the gateway cannot end, and how a person ends it there. */
export function heldElsewhere(answer: unknown): string | undefined {
  const { holder, fix } = fields(answer);
  return word(holder) === undefined ? undefined : `${text(holder)} ${text(fix)}`.trim();
}
