import { problemText, startChannels, type Channels } from "../../../channels/channels.ts";
import type { PairingDesk } from "../../../types/journal.ts";
import { LinkWaits } from "../../../channels/connection/link-waits.ts";
import { methods } from "../../../channels/methods.ts";
import { channelMetrics } from "../../../channels/metrics.ts";
import type { ConfiguredAccount } from "../../../channels/ports.ts";
import type { MetricRow } from "../../../server/metrics.ts";
import { Webhooks } from "../../../server/webhooks/webhooks.ts";
import type { ChannelLimits, ChannelLink } from "../../../types/chat/channel.ts";
import { systemClock } from "../../../types/clock.ts";
import { DEFAULT_ACCOUNT, type AccountId, type ChannelId } from "../../../types/ids.ts";
import type { Log } from "../../../types/log.ts";
import type { InboundMessage, Peer, Sender } from "../../../types/chat/message.ts";
import type { Method } from "../../../types/method.ts";
import type { WebClientPort } from "../../../types/chat/web-clients.ts";
import {
  accountFolder,
  accountOf,
  defaultAccountOf,
  isChannelOn,
  lowerLimits,
  placeOf,
} from "../../accounts/accounts.ts";
import { accountsIn } from "../../accounts/channel-accounts.ts";
import type { Core, Surroundings } from "../../compose/core.ts";
import { libraryStore, libraryUrl } from "../../compose/libraries.ts";
import type { Live } from "../../live.ts";
import { WEB_CHAT, webChatFor } from "../../contributions/extensions.ts";
import { isForeign } from "./foreign.ts";
import { openDiskNotices, type DiskNotices } from "../disk/disk-notices.ts";
import type { DiskState } from "../disk/disk-state.ts";
import { accountStop, STOP_FIX } from "../../config/keys/narrowing.ts";
import { BotLoops } from "../../../channels/access/bot-loops.ts";
import { gate } from "../../../channels/access/gating.ts";
import { PendingHistory } from "../../../channels/pending-history.ts";
import { mentionPatterns, type MentionPattern } from "../../../channels/access/mention-pattern.ts";
import { channelPolicyOf, type ChannelPolicy } from "../../../channels/access/policy.ts";
import { parseCommand } from "../../../dispatch/commands/parse-command.ts";
import type { GroupHistoryBuffer, Verdict } from "../../../dispatch/ports.ts";
import type { OpenJournal } from "../../../store/journal/journal.ts";
import type { Config } from "../../config/schema/schema.ts";
import { mentionPatternsFor } from "../../compose/routing/mentions.ts";

/** The gateway's side of the channels: reads accounts from the config, admits senders and passes messages on. */
export class GatewayChannels {
  readonly #live: Live;
  readonly #log: Log;
  readonly #notices: DiskNotices;
  readonly #admission: Admission;
  readonly #waits = new LinkWaits();
  readonly webhooks: Webhooks;
  #channels: Channels | undefined;
  #core: Core | undefined;
  #clients: WebClientPort | undefined;
  /** The reason why channels are off although the config enables them. */
  #heldReason: string | undefined;
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

  /** State of the disk: whether incoming messages can be stored. */
  get disk(): DiskState {
    return this.#notices.disk;
  }

  surroundings(): Surroundings {
    return {
      links: {
        link: (to) => this.#channels?.link(to.channel, to.account),
        limits: (to) => this.#limitsOf(to),
        buttons: (to) => this.#channels?.buttons(to),
        linked: async ({ channel, account }, signal) => {
          if (!this.linkOf(channel, account)) await this.#waits.wait(channel, account, signal);
        },
      },
      isConnecting: (to) => this.#willConnect(to),
      labelOf: (channel) => this.status().find((row) => row.channel === channel)?.label,
      accounts: () => this.status(),
      gate: (message) => this.#admission.judge(message, this.#core),
      groupHistory: this.#admission.groupHistory,
      onDiskFull: async (messages, { error, isAdmitted }) =>
        isAdmitted ? this.#notices.waiting(messages, error) : this.#notices.refused(messages, error),
      onDiskError: (error) => this.disk.refused(error),
      statusLines: () => this.statusLines(),
    };
  }

  /**
   * Whether a chat's account has a link or gets one; true also while the account restarts. Only an account that is off
   * or waits for a person gets no link on its own.
   */
  #willConnect({ channel, account }: Peer): boolean {
    return this.status().some(
      (row) => row.channel === channel && row.accountId === account && row.enabled && row.lifecycle !== "dead",
    );
  }

  /** The platform's limits, lowered by the config. */
  #limitsOf(to: Peer): ChannelLimits | undefined {
    const limits = this.#channels?.limits(to.channel);
    return limits && lowerLimits(limits, accountOf(this.#live.config, to));
  }

  /** The limits of a chat, as `surroundings().links.limits` gives them. */
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
    this.#heldReason = this.#live.safeMode ?? (await isForeign(this.#live));
    if (this.#heldReason !== undefined) this.#log.warn("channels stay off", { why: this.#heldReason });
    this.#channels = startChannels({
      adapters: [await webAccount(clients), ...(this.#heldReason === undefined ? await this.#accounts() : [])],
      receive: (messages) => this.#receive(core, messages),
      linked: (channel, account) => this.#waits.wake(channel, account),
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

  /** Restarts the accounts of these channels with their current settings. */
  async restart(ids: readonly string[]): Promise<void> {
    const channels = this.#channels;
    if (!channels || this.#heldReason !== undefined) return;
    const wanted = (await this.#accounts()).filter((account) => ids.includes(account.adapter.id));
    const removed = channels
      .status()
      .filter((row) => ids.includes(row.channel))
      .filter(
        (row) => !wanted.some((account) => account.adapter.id === row.channel && account.account === row.accountId),
      );
    for (const row of removed) await channels.remove(row.channel, row.accountId);
    for (const account of wanted) await channels.put(account);
  }

  /** Accepts new messages from now on. Called when the messages of an earlier boot are in their lanes. */
  open(): void {
    this.#opened.resolve();
  }

  /** Refuses new messages of platforms. The links stay open for replies that are being sent. */
  async stopReceiving(): Promise<void> {
    this.#refusing = true;
  }

  #refusing = false;
  readonly #opened = Promise.withResolvers<void>();

  #isClosing = false;

  /**
   * Closes the connections. Called when no run is left: messages that an adapter hands over as it closes are stored and
   * answered after the next boot.
   */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#channels?.close();
  }

  /**
   * Takes messages of adapters. Rejects during a stop, so that the platform keeps them; messages of clients are kept
   * here and answered after the next boot.
   */
  async #receive(core: Core, messages: readonly InboundMessage[]): Promise<void> {
    if (this.#isClosing) return core.dispatch.keep(messages);
    await this.#opened.promise;
    const isClients = messages.every(({ options }) => options?.operator === true);
    if (this.#refusing && !isClients) throw new Error("the gateway is stopping");
    try {
      await core.dispatch.receive(messages);
    } catch (error) {
      await this.#notices.refused(messages, error);
      throw error;
    }
  }

  async #accounts(): Promise<readonly ConfiguredAccount[]> {
    const { config, contributions } = this.#live;
    for (const [channel, section] of Object.entries(config.channels)) {
      if (!section.enabled || contributions.channel(channel)) continue;
      this.#log.warn("channel not started: it has no adapter", {
        channel,
        has: contributions.channels.map(({ id }) => id).join(", "),
      });
    }
    const on = (await accountsIn(this.#live)).filter(({ adapter }) => isChannelOn(config, adapter.id));
    return on.map((account) => ({ ...account, ...this.#stopOf(account) }));
  }

  #stopOf({ adapter, account }: ConfiguredAccount): Pick<ConfiguredAccount, "stopped"> {
    const reason = accountStop(this.#live.loaded.stops, adapter.id, account);
    return reason === undefined ? {} : { stopped: { reason: `The account is ${reason}`, fix: STOP_FIX } };
  }

  /** The link of an account; undefined while the account is not connected. */
  linkOf(channel: ChannelId, account: AccountId): ChannelLink | undefined {
    return this.#channels?.link(channel, account);
  }

  /** Whether a message of this person in a direct chat would be let in now. */
  mayWrite(from: Peer, sender: Sender): Promise<boolean> {
    return this.#admission.mayWrite({ from, sender }, this.#core);
  }

  /**
   * Closes one account's connection. The returned function opens it again with the settings of that time, unless the
   * account is off by then.
   */
  async pause({ adapter, account }: ConfiguredAccount): Promise<() => Promise<void>> {
    await this.#channels?.remove(adapter.id, account);
    return async () => {
      if (!this.#channels || this.#heldReason !== undefined) return;
      const now = (await this.#accounts()).find((one) => one.adapter.id === adapter.id && one.account === account);
      // A login may have added an account that only the channel knows.
      if (adapter.accountIds) await this.restart([adapter.id]);
      else if (now) await this.#channels.put(now);
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

  health() {
    const rows = this.status();
    const byChannel = Map.groupBy(rows, (row) => row.channel);
    return {
      channelOrder: [...byChannel.keys()],
      channelLabels: Object.fromEntries([...byChannel].map(([id, own]) => [id, own[0]?.label ?? id])),
      channels: Object.fromEntries(
        [...byChannel].map(([id, own]) => [id, { configured: true, connected: own.some((row) => row.connected) }]),
      ),
      plugins: { loaded: [], errors: [] },
    };
  }

  metrics(): readonly MetricRow[] {
    return [...channelMetrics(this.status()), ...this.webhooks.metrics()];
  }

  /** The reason why channels are off although the config enables them; undefined when they are not. */
  get held(): string | undefined {
    return this.#heldReason;
  }

  /** The channels in one line, for the output of the gateway's start. */
  text(): string {
    if (this.#heldReason !== undefined) return `off: ${this.#heldReason}`;
    const rows = this.#configured();
    return rows.length === 0 ? "none (web chat only)" : rows.map((row) => `${row.label} (${row.accountId})`).join(", ");
  }

  /** A line about each account that the config enables. */
  statusLines(): readonly string[] {
    return this.#configured().map(
      (row) => `${row.label}: ${row.connected ? "connected" : (problemText(row) ?? row.lifecycle)}`,
    );
  }

  /**
   * Problems for the operator: the reason why all channels are off, or the accounts that need a person, dead or without
   * a connection for minutes.
   */
  problems(): readonly string[] {
    if (this.#heldReason !== undefined) return [`All channels are off: ${this.#heldReason}`];
    const now = systemClock.now();
    const rows = this.#configured().filter(
      ({ lifecycle, lifecycleSince, connected }) =>
        lifecycle === "dead" || (!connected && now - (lifecycleSince ?? now) > LONG_OFF_MS),
    );
    return rows.map((row) => `${row.label} (${row.accountId}) is not connected: ${problemText(row) ?? row.lifecycle}`);
  }

  /** The accounts that the config enables. */
  #configured() {
    return this.status().filter((row) => row.enabled && row.channel !== WEB_CHAT);
  }
}

/** Milliseconds without a connection that count as a problem: a broken connection normally recovers within seconds. */
const LONG_OFF_MS = 3 * 60_000;

/** The web chat is always on, whatever the config says. */
async function webAccount(clients: WebClientPort): Promise<ConfiguredAccount> {
  return { adapter: await webChatFor(clients), account: DEFAULT_ACCOUNT, config: {}, enabled: true };
}

/** Milliseconds of a week: the default time for which the journal keeps messages that were not allowed. */
const KEEP_MS = 7 * 24 * 60 * 60_000;

/** Decides who is allowed by the current config, and keeps the group history. */
class Admission {
  readonly groupHistory: GroupHistoryBuffer = {
    add: ({ id, message }) => {
      const from = this.#placeOf(message.from);
      this.#pending.add({ id, message: { ...message, from } }, this.#policyFor(from).historyLimit);
    },
    take: ({ id, message }) => this.#pending.take(this.#placeOf(message.from), id),
  };
  readonly #live: Live;
  readonly #pending = new PendingHistory();
  readonly #loops = new BotLoops();
  readonly #reported = new WeakSet<MentionPattern>();
  #policies: { config: Config; byAccount: Map<string, ChannelPolicy> } | undefined;

  constructor(live: Live) {
    this.#live = live;
  }

  async judge(message: InboundMessage, core: Pick<Core, "journal" | "ports"> | undefined): Promise<Verdict> {
    const policy = this.#policyFor(message.from);
    const paired = policy.direct === "pairing" && core && (await isPaired(message, core.journal.pairing));
    const patterns = mentionPatternsFor(message, this.#live) ?? policy.mentionPatterns;
    const verdict = gate(message, policy, {
      paired: paired === true,
      isOwner: core?.ports.settings().isOwner(message) === true,
      isCommand: message.isEdit !== true && parseCommand(message.text) !== undefined,
      mentionPatterns: patterns,
      activation: core && activationOf(message, core.ports),
    });
    this.#tellStopped(patterns, core?.ports.log);
    if (verdict.kind === "pass" && this.#isLoop(message, policy))
      return { kind: "drop", why: "a bot that writes too often" };
    return verdict;
  }

  async mayWrite(
    who: Pick<InboundMessage, "from" | "sender">,
    core: Pick<Core, "journal" | "ports"> | undefined,
  ): Promise<boolean> {
    const message = { ...who, id: "", eventKey: "", text: "", media: [], mentionsBot: true, receivedAt: 0 };
    return (await this.judge(message, core)).kind === "pass";
  }

  /** Restores the group history of an earlier process. Rejects when the journal cannot be read. */
  async refill(journal: Pick<OpenJournal, "heard">): Promise<void> {
    const rows = await journal.heard(systemClock.now() - KEEP_MS, (from) => this.#placeOf(from));
    // An older version kept reactions as messages without a text.
    for (const row of rows) if (row.message.event !== "reaction") this.groupHistory.add(row);
  }

  #tellStopped(patterns: readonly MentionPattern[], log: Log | undefined): void {
    for (const pattern of patterns) {
      if (!log || !pattern.wasStopped || this.#reported.has(pattern)) continue;
      this.#reported.add(pattern);
      log.warn("a mention pattern searched too long and is not used for a minute; see openclaw doctor", {
        pattern: pattern.source,
      });
    }
  }

  #isLoop(message: InboundMessage, { botLoops }: ChannelPolicy): boolean {
    if (!message.sender.isBot || !botLoops) return false;
    return this.#loops.isTooMany(message, botLoops, message.receivedAt);
  }

  #placeOf(from: Peer): Peer {
    return placeOf(from, this.#live.config);
  }

  #policyFor(from: Peer): ChannelPolicy {
    const { config } = this.#live;
    if (this.#policies?.config !== config) this.#policies = { config, byAccount: new Map() };
    const name = `${from.channel}\n${from.account}`;
    const known = this.#policies.byAccount.get(name) ?? makePolicy(config, from);
    this.#policies.byAccount.set(name, known);
    return known;
  }
}

/** The activation of the group's session. A value of another program that means nothing here counts as unset. */
function activationOf(
  message: InboundMessage,
  { storage: { sessions }, settings }: Core["ports"],
): "mention" | "always" | undefined {
  if (message.from.chat.kind !== "group") return undefined;
  const word: unknown = sessions.peek(settings().keyFor(message))?.groupActivation;
  return word === "mention" || word === "always" ? word : undefined;
}

function makePolicy(config: Config, from: Peer): ChannelPolicy {
  const { mentionPatterns: sources, historyLimit } = config.messages.groupChat;
  return channelPolicyOf(accountOf(config, from), { mentionPatterns: mentionPatterns(sources), historyLimit });
}

/** Whether the sender was let in: by the id, or by a number that the platform vouches for, which other gateways note instead. */
async function isPaired({ from, sender }: InboundMessage, desk: Pick<PairingDesk, "isPaired">): Promise<boolean> {
  const { channel, account } = from;
  if (await desk.isPaired(channel, account, sender.id)) return true;
  return sender.e164 !== undefined && (await desk.isPaired(channel, account, sender.e164));
}
