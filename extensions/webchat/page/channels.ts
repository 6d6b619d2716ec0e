import { fields, list, text, word, words } from "./json.ts";

/** Asks the gateway for something beside the chat. Rejects as `Connection.request` does. */
export type Ask = (method: string, params: Record<string, unknown>) => Promise<unknown>;

/** One account of a chat platform, as the gateway tells it. */
export interface ChannelAccount {
  readonly channel: string;
  readonly label: string;
  readonly account: string;
  readonly state: string;
  readonly connected: boolean;
  /** Who it is on the platform. */
  readonly name: string;
  /** Milliseconds since 1970 of the next try, while in trouble. */
  readonly retryAt?: number | undefined;
  /** Milliseconds since the platform gave a sign. */
  readonly silentMs?: number | undefined;
  readonly error: string;
  /** It can be linked by a code. */
  readonly login: boolean;
}

/** Every account, in the gateway's order. */
export async function readChannels(ask: Ask): Promise<readonly ChannelAccount[]> {
  const status = fields(await ask("channels.status", {}));
  const able = list(fields(await ask("channels.capabilities", {}))["channels"]).map(fields);
  const linkable = new Set(able.filter((row) => row["login"] === true).map((row) => text(row["channel"])));
  const accounts = fields(status["channelAccounts"]);
  const labels = fields(status["channelLabels"]);
  return words(status["channelOrder"]).flatMap((channel) =>
    list(accounts[channel]).map((row) =>
      readAccount(fields(row), { channel, label: text(labels[channel], channel), login: linkable.has(channel) }),
    ),
  );
}

function readAccount(
  row: Record<string, unknown>,
  of: Pick<ChannelAccount, "channel" | "label" | "login">,
): ChannelAccount {
  const count = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
  return {
    ...of,
    account: text(row["accountId"]),
    state: row["enabled"] === false ? "off" : text(row["lifecycle"], "unknown"),
    connected: row["connected"] === true,
    name: text(fields(row["self"])["name"]),
    retryAt: count(row["retryAt"]),
    silentMs: count(row["silentMs"]),
    error: text(row["lastError"]),
  };
}

/** Sends a test message; what became of it, in words. */
export async function sendTest(ask: Ask, { channel, account }: ChannelAccount, to: string): Promise<string> {
  const idempotencyKey = crypto.randomUUID();
  const message = "A test message of openclaw.";
  const params = { to, message, channel, accountId: account, idempotencyKey, tellFailure: true };
  const sent = fields(await ask("send", params));
  if (sent["state"] === "sent") return "Sent.";
  const reason = word(sent["reason"]);
  if (sent["state"] === "failed") return `Not sent: ${reason ?? "unknown"}.`;
  return `It waits: ${reason ?? "the platform has not answered yet"}.`;
}

/** How a login stands: the latest thing to show, and the end. */
export interface LoginView {
  readonly loginId: string;
  readonly next: number;
  readonly state: "waiting" | "linked" | "failed";
  /** Lines of 0 and 1. */
  readonly qr?: readonly string[] | undefined;
  readonly code?: string | undefined;
  readonly told?: string | undefined;
}

/** Reads an answer of `channels.login.*`, on top of what was known; a step takes the place of the one before. */
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
  const error = word(view["error"]);
  return { ...shown, ...(error !== undefined && { told: error }), loginId: text(view["loginId"]), next, state };
}
