import { problemText, startChannels, type Channels } from "../../channels/channels.ts";
import { methods } from "../../channels/methods.ts";
import { channelMetrics } from "../../channels/metrics.ts";
import type { ConfiguredAccount } from "../../channels/ports.ts";
import type { MetricRow } from "../../server/metrics.ts";
import { Webhooks } from "../../server/webhooks/webhooks.ts";
import type { ChannelLimits, ChannelLink } from "../../types/chat/channel.ts";
import { systemClock } from "../../types/clock.ts";
import { DEFAULT_ACCOUNT, type AccountId, type ChannelId } from "../../types/ids.ts";
import type { Log } from "../../types/log.ts";
import type { InboundMessage, Peer } from "../../types/chat/message.ts";
import type { Method } from "../../types/method.ts";
import type { WebClientPort } from "../../types/chat/web-clients.ts";
import { accountFolder, accountOf, defaultAccountOf, isChannelOn, lowerLimits } from "../accounts/accounts.ts";
import { accountsIn } from "../accounts/channel-accounts.ts";
import type { Core, Surroundings } from "../compose/core.ts";
import { libraryStore, libraryUrl } from "../compose/libraries.ts";
import type { Live } from "../compose/live.ts";
import { Admission } from "./admission.ts";
import { bundledChannels, WEB_CHAT, webChatFor } from "../contributions/extensions.ts";
import { isForeign } from "./lifecycle/foreign.ts";
import { type DiskNotices, openDiskNotices } from "./disk/disk-notices.ts";
import type { DiskState } from "./disk/disk-state.ts";
import { accountStop, STOP_FIX } from "../config/keys/narrowing.ts";

/** The gateway's side of the channels: their accounts out of the config, who is let in, what comes in. */
export class GatewayChannels {
  readonly #live: Live;
  readonly #log: Log;
  readonly #notices: DiskNotices;
  readonly #admission: Admission;
  readonly webhooks: Webhooks;
  #channels: Channels | undefined;
  #core: Core | undefined;
  #clients: WebClientPort | undefined;
  /** Why channels are off although the config has them on. */
  #held: string | undefined;
  isUp = false;

  constructor(live: Live, log: Log) {
    this.#live = live;
    this.#notices = openDiskNotices(live.paths.stateDir, {
      link: (to) => this.#channels?.link(to.channel, to.account),
      log,
      clock: systemClock,
    });
    this.#admission = new Admission(live);
    this.#log = log;
    this.webhooks = new Webhooks(systemClock, log);
  }

  /** Whether what comes in can be kept. */
  get disk(): DiskState {
    return this.#notices.disk;
  }

  surroundings(): Surroundings {
    return {
      links: {
        link: (to) => this.#channels?.link(to.channel, to.account),
        limits: (to) => this.#limitsOf(to),
      },
      linkComes: (to) => this.#comes(to),
      accounts: () => this.status(),
      gate: (message) => this.#admission.judge(message, this.#core),
      groupHistory: this.#admission.groupHistory,
      onDiskFull: async (messages, { error, isAdmitted }) =>
        isAdmitted ? this.#notices.waiting(messages, error) : this.#notices.refused(messages, error),
      onDiskError: (error) => this.disk.refused(error),
      statusLines: () => this.#statusLines(),
    };
  }

  /** Also while an account is started anew: only what is off, or waits for a person, gets no link by itself. */
  #comes({ channel, account }: Peer): boolean {
    return this.status().some(
      (row) => row.channel === channel && row.accountId === account && row.enabled && row.lifecycle !== "dead",
    );
  }

  /** The platform's limits, or less where the config says so. */
  #limitsOf(to: Peer): ChannelLimits | undefined {
    const limits = this.#channels?.limits(to.channel);
    return limits && lowerLimits(limits, accountOf(this.#live.config, to));
  }

  /** As `surroundings().links.limits`. */
  limits(to: Peer): ChannelLimits | undefined {
    return this.#limitsOf(to);
  }

  connectTo(core: Core, clients: WebClientPort): void {
    this.#core = core;
    this.#clients = clients;
  }

  /** Begins to connect every account of the config. */
  async start(): Promise<void> {
    const core = this.#core;
    const clients = this.#clients;
    if (!core || !clients) throw new Error("connectTo comes before start");
    await this.#admission.refill(core.journal);
    this.#held = await isForeign(this.#live);
    if (this.#held !== undefined) this.#log.warn("channels stay off", { why: this.#held });
    this.#channels = startChannels({
      adapters: [await webAccount(clients), ...(this.#held === undefined ? await this.#accounts() : [])],
      receive: (messages) => this.#receive(core, messages),
      media: core.media,
      values: core.journal.values,
      commands: core.dispatch.commands.all.map(({ name, help }) => ({ name, description: help })),
      folder: (channel, account) => accountFolder(this.#live.paths.credentials, channel, account),
      library: (wish) => libraryUrl(libraryStore(this.#live.paths, this.#log), wish),
      serve: (path, answer, signal) => this.webhooks.serve(path, answer, signal),
      log: this.#log,
      clock: systemClock,
    });
    this.isUp = true;
  }

  /** Accounts of these channels are started anew with their settings of now. */
  async restart(ids: readonly string[]): Promise<void> {
    const channels = this.#channels;
    if (!channels || this.#held !== undefined) return;
    const wanted = (await this.#accounts()).filter((account) => ids.includes(account.adapter.id));
    const gone = channels
      .status()
      .filter((row) => ids.includes(row.channel))
      .filter(
        (row) => !wanted.some((account) => account.adapter.id === row.channel && account.account === row.accountId),
      );
    for (const row of gone) await channels.remove(row.channel, row.accountId);
    for (const account of wanted) await channels.put(account);
  }

  /** What an earlier boot left is in its lanes: from now on new messages are taken. */
  open(): void {
    this.#opened.resolve();
  }

  /** The links stay for replies that are on their way. */
  async stopReceiving(): Promise<void> {
    this.#refusing = true;
  }

  #refusing = false;
  readonly #opened = Promise.withResolvers<void>();

  async close(): Promise<void> {
    await this.#channels?.close();
  }

  /** Rejects while stopping, so that the platform keeps what nobody will answer. A client has nobody else: the next boot answers it. */
  async #receive(core: Core, messages: readonly InboundMessage[]): Promise<void> {
    await this.#opened.promise;
    const isClients = messages.every(({ options }) => options?.operator === true);
    if (this.#refusing && !isClients) throw new Error("the gateway stops");
    try {
      await core.dispatch.receive(messages);
    } catch (error) {
      await this.#notices.refused(messages, error);
      throw error;
    }
  }

  async #accounts(): Promise<readonly ConfiguredAccount[]> {
    const { config } = this.#live;
    for (const [channel, section] of Object.entries(config.channels)) {
      if (!section.enabled || bundledChannels.includes(channel)) continue;
      this.#log.warn("channel not started: there is no adapter for it yet", {
        channel,
        has: bundledChannels.join(", "),
      });
    }
    const on = (await accountsIn(config)).filter(({ adapter }) => isChannelOn(config, adapter.id));
    return on.map((account) => ({ ...account, ...this.#stopOf(account) }));
  }

  #stopOf({ adapter, account }: ConfiguredAccount): Pick<ConfiguredAccount, "stopped"> {
    const reason = accountStop(this.#live.loaded.stops, adapter.id, account);
    return reason === undefined ? {} : { stopped: { reason: `The account is ${reason}`, fix: STOP_FIX } };
  }

  /** Undefined while the account is not connected. */
  linkOf(channel: ChannelId, account: AccountId): ChannelLink | undefined {
    return this.#channels?.link(channel, account);
  }

  /** Closes one account's connection. What it gives back opens it with the settings of then, if it still is to be up. */
  async pause({ adapter, account }: ConfiguredAccount): Promise<() => Promise<void>> {
    await this.#channels?.remove(adapter.id, account);
    return async () => {
      if (!this.#channels || this.#held !== undefined) return;
      const now = (await this.#accounts()).find((one) => one.adapter.id === adapter.id && one.account === account);
      if (now) await this.#channels.put(now);
    };
  }

  methods(): readonly Method[] {
    return methods(
      () => this.status(),
      (channel) => defaultAccountOf(this.#live.config, channel),
    );
  }

  status() {
    return this.#channels?.status() ?? [];
  }

  health(): Record<string, unknown> {
    const rows = this.status();
    const byChannel = Map.groupBy(rows, (row) => row.channel);
    return {
      channelOrder: [...byChannel.keys()],
      channelLabels: Object.fromEntries([...byChannel].map(([id, own]) => [id, own[0]?.label ?? id])),
      channels: Object.fromEntries(
        [...byChannel].map(([id, own]) => [id, { connected: own.some((row) => row.connected) }]),
      ),
      plugins: { loaded: [], errors: [] },
    };
  }

  metrics(): readonly MetricRow[] {
    return [...channelMetrics(this.status()), ...this.webhooks.metrics()];
  }

  /** Why channels are off although the config has them on. */
  get held(): string | undefined {
    return this.#held;
  }

  /** For the lines that the daemon prints at its start. */
  text(): string {
    if (this.#held !== undefined) return `off: ${this.#held}`;
    const rows = this.#configured();
    return rows.length === 0 ? "none (web chat only)" : rows.map((row) => `${row.label} (${row.accountId})`).join(", ");
  }

  #statusLines(): readonly string[] {
    return this.#configured().map(
      (row) => `${row.label}: ${row.connected ? "connected" : (problemText(row) ?? row.lifecycle)}`,
    );
  }

  /** Accounts that a person has to look at: dead, or without a connection for minutes. */
  problems(): readonly string[] {
    const now = systemClock.now();
    const rows = this.#configured().filter(
      ({ lifecycle, lifecycleSince, connected }) =>
        lifecycle === "dead" || (!connected && now - (lifecycleSince ?? now) > LONG_OFF_MS),
    );
    return rows.map((row) => `${row.label} (${row.accountId}) is not connected: ${problemText(row) ?? row.lifecycle}`);
  }

  /** The accounts that the config switches on. */
  #configured() {
    return this.status().filter((row) => row.enabled && row.channel !== WEB_CHAT);
  }
}

/** A connection that breaks comes back by itself within seconds. */
const LONG_OFF_MS = 3 * 60_000;

/** Always on, whatever the config says. */
async function webAccount(clients: WebClientPort): Promise<ConfiguredAccount> {
  return { adapter: await webChatFor(clients), account: DEFAULT_ACCOUNT, config: {}, enabled: true };
}
