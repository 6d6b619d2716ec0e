import { BotLoops } from "../../../channels/access/bot-loops.ts";
import { gate } from "../../../channels/access/gating.ts";
import { PendingHistory } from "../../../channels/pending-history.ts";
import { type MentionPattern, mentionPatterns } from "../../../channels/access/mention-pattern.ts";
import { channelPolicyOf, type ChannelPolicy } from "../../../channels/access/policy.ts";
import { parseCommand } from "../../../dispatch/commands/parse-command.ts";
import type { GroupHistoryBuffer, Verdict } from "../../../dispatch/ports.ts";
import type { OpenJournal } from "../../../store/journal/journal.ts";
import { systemClock } from "../../../types/clock.ts";
import type { Log } from "../../../types/log.ts";
import type { InboundMessage, Peer } from "../../../types/chat/message.ts";
import { accountOf, placeOf } from "../../accounts/accounts.ts";
import type { Config } from "../../config/schema/schema.ts";
import type { Core } from "../../compose/core.ts";
import type { Live } from "../../live.ts";
import { mentionPatternsFor } from "../../compose/routing/mentions.ts";

/** Milliseconds of a week: the default time for which the journal keeps messages that were not allowed. */
const KEEP_MS = 7 * 24 * 60 * 60_000;

/** Decides who is allowed by the current config, and keeps the group history. */
export class Admission {
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
    const { channel, account } = message.from;
    const paired =
      policy.direct === "pairing" && (await core?.journal.pairing.isPaired(channel, account, message.sender.id));
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
