import { mustBeNamedIn } from "../../channels/access/gating.ts";
import { channelPolicyOf } from "../../channels/access/policy.ts";
import type { DispatchSettings } from "../../dispatch/settings.ts";
import { queueSettings, queueWishOf } from "../../dispatch/queue/queue-settings.ts";
import { mayUse } from "../../dispatch/candidates.ts";
import { chatOf } from "../../sessions/chat-of.ts";
import { channelId, DEFAULT_ACCOUNT, type SessionKey } from "../../types/ids.ts";
import type { Peer } from "../../types/chat/message.ts";
import type { Models } from "../../providers/catalog.ts";
import { SPEECH_LEVELS, speechLevelOf } from "../../types/media/speech.ts";
import { modelName, THINK_LEVELS } from "../../types/run/model.ts";
import { MOST_CAP, MOST_DEBOUNCE_MS, QUEUE_DROPS, QUEUE_MODES, type QueueSettings } from "../../types/queue.ts";
import { REASONING_LEVELS, reasoningLevelOf } from "../../types/run/reasoning-level.ts";
import { USAGE_LEVELS, usageLevelOf } from "../../types/run/usage-level.ts";
import { VERBOSE_LEVELS, verboseLevelOf } from "../../types/run/verbose.ts";
import type { SessionEntry, SettingInForce } from "../../types/session.ts";
import type { AgentSettings } from "../../types/settings.ts";
import { accountOf } from "../accounts/accounts.ts";
import type { Config } from "../config/schema/schema.ts";
import type { Parts } from "./parts/parts.ts";

type Settings = Readonly<Record<string, SettingInForce>>;
type Row = Readonly<Partial<SessionEntry>>;

/**
 * The settings of a session, begun or not. A value of its row that means nothing here, such as one of another program,
 * counts as unset. The queue settings are those for a message from the chat of the session.
 */
export async function settingsInForce(
  key: SessionKey,
  { core, live }: Pick<Parts, "core" | "live">,
): Promise<Settings> {
  const settings = core.ports.settings();
  const entry = core.sessions.peek(key);
  const agent = settings.agents.get(settings.agentOf(key));
  const chat = chatOf(key, entry, settings.defaultAgent) ?? webChat(key);
  return {
    ...(agent && { model: await modelOf(entry, agent, core.models.of(agent.id)) }),
    ...levelsOf(entry, agent),
    ttsAuto: setting(speechLevelOf(entry?.ttsAuto), {
      default: (agent && core.ports.prompts.speaker?.levelOf(agent.id)) ?? "off",
      choices: SPEECH_LEVELS,
    }),
    ...queueOf(entry, chat, settings),
    ...(chat.chat.kind === "group" && { groupActivation: activationOf(entry, chat, live.config) }),
    sendPolicy: setting(wordIn(["allow", "deny"], entry?.sendPolicy), {
      default: settings.mayAnswer?.(key, chat) === false ? "deny" : "allow",
      choices: ["allow", "deny"],
    }),
  };
}

const webChat = (key: SessionKey): Peer => ({
  channel: channelId("webchat"),
  account: DEFAULT_ACCOUNT,
  chat: { kind: "direct", id: key },
});

const setting = (
  own: string | number | undefined,
  rest: Pick<SettingInForce, "default" | "choices" | "range">,
): SettingInForce => ({
  value: own ?? rest.default,
  source: own === undefined ? "default" : "session",
  ...rest,
});

const wordIn = (words: readonly string[], word: unknown): string | undefined => words.find((known) => known === word);

async function modelOf(
  { providerOverride: provider, modelOverride: id }: Row = {},
  agent: AgentSettings,
  models: Models,
): Promise<SettingInForce> {
  const chosen = provider !== undefined && id !== undefined ? { provider, id } : undefined;
  const usable = (await models.list()).filter((model) => model.available && mayUse(agent, model));
  return setting(chosen && mayUse(agent, chosen) ? modelName(chosen) : undefined, {
    default: modelName(agent.model.primary ?? (await models.choose())),
    choices: usable.map(modelName),
  });
}

function levelsOf(entry: Row = {}, agent: AgentSettings | undefined): Settings {
  return {
    thinkingLevel: setting(wordIn(THINK_LEVELS, entry.thinkingLevel), {
      default: agent?.thinking ?? "off",
      choices: THINK_LEVELS,
    }),
    verboseLevel: setting(verboseLevelOf(entry.verboseLevel), {
      default: agent?.verbose ?? "off",
      choices: VERBOSE_LEVELS,
    }),
    reasoningLevel: setting(reasoningLevelOf(entry.reasoningLevel), { default: "off", choices: REASONING_LEVELS }),
    responseUsage: setting(usageLevelOf(entry.responseUsage), { default: "off", choices: USAGE_LEVELS }),
  };
}

function queueOf(entry: Row | undefined, chat: Peer, settings: DispatchSettings): Settings {
  const configured: QueueSettings = queueSettings(chat, undefined, settings);
  const own = queueWishOf(entry);
  return {
    queueMode: setting(own.mode, { default: configured.mode, choices: QUEUE_MODES }),
    queueDebounceMs: setting(own.debounceMs, { default: configured.debounceMs, range: [0, MOST_DEBOUNCE_MS] }),
    queueCap: setting(own.cap, { default: configured.cap, range: [1, MOST_CAP] }),
    queueDrop: setting(own.drop, { default: configured.drop, choices: QUEUE_DROPS }),
  };
}

function activationOf(entry: Row | undefined, { chat, ...place }: Peer, config: Config): SettingInForce {
  const policy = channelPolicyOf(accountOf(config, place), { mentionPatterns: [], historyLimit: 0 });
  const mustBeNamed = mustBeNamedIn(chat.id, policy);
  const named = mustBeNamed === true ? "mention" : "always";
  return setting(wordIn(["mention", "always"], entry?.groupActivation), {
    default: mustBeNamed === undefined ? null : named,
    choices: ["mention", "always"],
  });
}
