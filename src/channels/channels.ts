import type { ButtonLimits, ChannelLimits, ChannelLink, Notice } from "../types/chat/channel.ts";
import { OpenClawError } from "../types/errors.ts";
import type { AccountId, ChannelId } from "../types/ids.ts";
import type { Peer } from "../types/chat/message.ts";
import type { ChannelPorts, ConfiguredAccount } from "./ports.ts";
import type { UnaskedPeriod } from "./connection/catch-up.ts";
import { serverOf } from "./same-login.ts";
import { Supervisor } from "./connection/supervisor.ts";
import type { Lifecycle } from "./connection/account-state.ts";

export { problemText } from "./connection/problem-text.ts";

/** Status of one account for `channels.status`. Times are epoch milliseconds; null means never. */
export interface ChannelStatus {
  readonly channel: ChannelId;
  readonly label: string;
  readonly accountId: AccountId;
  readonly enabled: boolean;
  /** False when the account's settings cannot work. */
  readonly configured: boolean;
  readonly running: boolean;
  readonly connected: boolean;
  readonly lifecycle: Lifecycle;
  /** Since when the account has this lifecycle; null when it was never started. */
  readonly lifecycleSince: number | null;
  /** When the next attempt is due, while in trouble. */
  readonly retryAt: number | null;
  /** Milliseconds since the last proof of progress: an answered poll, an acknowledged heartbeat, an event. */
  readonly silentMs: number | null;
  readonly lastInboundAt: number | null;
  readonly lastOutboundAt: number | null;
  readonly lastTransportActivityAt: number | null;
  /** Failures in a row. */
  readonly reconnectAttempts: number;
  /** The current problem; null when there is none. */
  readonly lastError: string | null;
  /** The step that a person can take about `lastError`; null when unknown. */
  readonly fix: string | null;
  /** Cause of a wait before the account can connect, such as the download of a library. */
  readonly activity?: string;
  /** Problems that a person should solve while the account continues to work. */
  readonly notices?: readonly Notice[];
  /** The part of the latest outage that was too long ago to ask the platform about: messages of that time may be missing. */
  readonly unasked?: UnaskedPeriod;
  readonly self?: { readonly id: string; readonly name: string };
}

/** All channel accounts of the gateway. Each is supervised and restarted independently. */
export interface Channels {
  /** Undefined when the account is unknown or not connected. */
  link(channel: ChannelId, account: AccountId): ChannelLink | undefined;
  limits(channel: ChannelId): ChannelLimits | undefined;
  /**
   * Limits for the buttons of a message in a chat; undefined where the chat has no buttons, or the account is unknown
   * or cannot start.
   */
  buttons(to: Peer): ButtonLimits | undefined;
  status(): readonly ChannelStatus[];
  /** Starts an account, or restarts it with new settings. */
  put(account: ConfiguredAccount): Promise<void>;
  /** Throws `OpenClawError` `CHANNEL_MISSING` when there is no such account. */
  restart(channel: ChannelId, account: AccountId, config?: unknown): Promise<void>;
  /** Stops and forgets an account. Does nothing when there is none. */
  remove(channel: ChannelId, account: AccountId): Promise<void>;
  /** Resolves when no account receives messages any more. */
  close(): Promise<void>;
}

export interface ChannelOptions extends ChannelPorts {
  readonly adapters: readonly ConfiguredAccount[];
}

/** Begins to connect every enabled account and returns at once; never throws. */
export function startChannels(options: ChannelOptions): Channels {
  const accounts = new Map<string, Supervisor>();
  const find = (channel: ChannelId, account: AccountId): Supervisor | undefined =>
    accounts.get(keyOf(channel, account));
  const add = (account: ConfiguredAccount): void => {
    const supervisor: Supervisor = new Supervisor(account, options, (self) =>
      twinOf(supervisor, self.id, accounts.values()),
    );
    accounts.set(keyOf(account.adapter.id, account.account), supervisor);
    supervisor.start();
  };
  options.adapters.forEach(add);
  return {
    link: (channel, account) => find(channel, account)?.link,
    limits: (channel) => [...accounts.values()].find((it) => it.account.adapter.id === channel)?.account.adapter.limits,
    buttons: (to) => buttonsIn(to, find(to.channel, to.account)?.account),
    status: () => [...accounts.values()].map((account) => statusOf(account, options.clock.now())),
    async put(account) {
      const known = find(account.adapter.id, account.account);
      if (!known) return add(account);
      await known.restart(account);
    },
    async restart(channel, account, config) {
      const known = find(channel, account);
      if (!known) throw missing(channel, account);
      await known.restart(config === undefined ? known.account : { ...known.account, config });
    },
    async remove(channel, account) {
      const known = find(channel, account);
      accounts.delete(keyOf(channel, account));
      await known?.stop();
    },
    async close() {
      await Promise.all([...accounts.values()].map((account) => account.stop()));
    },
  };
}

/** The account that is connected as the same identity of the platform, on the same server. */
function twinOf({ account: own }: Supervisor, self: string, all: Iterable<Supervisor>): AccountId | undefined {
  for (const { account, state } of all)
    if (
      account.adapter.id === own.adapter.id &&
      account.account !== own.account &&
      state.lifecycle === "running" &&
      state.self?.id === self &&
      serverOf(account.config, account.adapter.config) === serverOf(own.config, own.adapter.config)
    )
      return account.account;
  return undefined;
}

const buttonsIn = (to: Peer, account: ConfiguredAccount | undefined): ButtonLimits | undefined =>
  account?.enabled === true && !account.stopped ? account.adapter.buttons?.(account.config, to) : undefined;

const keyOf = (channel: ChannelId, account: AccountId): string => JSON.stringify([channel, account]);

const missing = (channel: ChannelId, account: AccountId): OpenClawError =>
  new OpenClawError("CHANNEL_MISSING", {
    message: `There is no account ${account} of channel ${channel}.`,
    fix: `Add it under channels.${channel} in openclaw.json.`,
  });

function statusOf({ account, state, times, link }: Supervisor, now: number): ChannelStatus {
  return {
    channel: account.adapter.id,
    label: account.adapter.label,
    accountId: account.account,
    enabled: account.enabled,
    configured: state.configured,
    running: state.lifecycle !== "stopped" && state.lifecycle !== "dead",
    connected: state.lifecycle === "running" && link !== undefined,
    lifecycle: state.lifecycle,
    lifecycleSince: state.since || null,
    retryAt: state.retryAt ?? null,
    silentMs: times.transport === undefined ? null : now - times.transport,
    lastInboundAt: times.inbound ?? null,
    lastOutboundAt: times.outbound ?? null,
    lastTransportActivityAt: times.transport ?? null,
    reconnectAttempts: state.attempts,
    lastError: state.problem ?? null,
    fix: state.fix ?? null,
    ...optionalStatus(state),
  };
}

/** Fields that most accounts lack. */
const optionalStatus = ({ activity, notices, unasked, self }: Supervisor["state"]) => ({
  ...(activity !== undefined && { activity }),
  ...(notices.length > 0 && { notices }),
  ...(unasked && { unasked }),
  ...(self && { self }),
});
