import { isAbsolute, join } from "node:path";
import type { AgentEntry, HeartbeatConfig } from "../../automation/config.ts";
import { identifiersOf } from "../../history/compaction/config.ts";
import type { AgentToolsConfig, ToolsConfig } from "../../tools/config.ts";
import { execChoice } from "../../tools/exec-mode.ts";
import { sandboxSettings } from "../../tools/sandbox/settings.ts";
import { OpenClawError } from "../../types/errors.ts";
import { agentId, DEFAULT_AGENT } from "../../types/ids.ts";
import { toolPolicyOf } from "./tool-policy.ts";
import { isSameModel, type ModelRef, type ThinkLevel, parseModelName } from "../../types/run/model.ts";
import type {
  AgentSettings,
  CompactionSettings,
  ExecSettings,
  MessageToolSettings,
  TypingSettings,
  HeartbeatSettings,
} from "../../types/settings.ts";
import { memorySearchOf } from "./memory-settings.ts";
import { agentStop, type Stop } from "./keys/narrowing.ts";
import { localZone } from "../../utils/time/local-time.ts";
import type { Config } from "./schema/schema.ts";
import type { MediaModels } from "../../types/media/settings.ts";

type Defaults = Config["agents"]["defaults"];
type ModelChoice = Defaults["model"];

interface Places {
  readonly home: string;
  readonly stateDir: string;
  /** Environment variables that the config references; none when unset. */
  readonly variables?: readonly string[];
  /** Config keys that stop agents; none when unset. */
  readonly stops?: readonly Stop[];
}

/**
 * The settings of every agent, frozen, the default agent first. Throws `CONFIG_INVALID` when two agents have one id or
 * one `agentDir`.
 */
export function resolveAgents(config: Config, places: Places): readonly AgentSettings[] {
  const { agentId: named = DEFAULT_AGENT } = config.agents.defaults;
  const entries: readonly Partial<AgentEntry>[] = config.agents.list.length > 0 ? config.agents.list : [{ id: named }];
  const marked = entries.findIndex((entry) => entry.default === true);
  const first = marked >= 0 ? marked : entries.findIndex((entry) => entry.id === config.agents.defaults.agentId);
  const ordered = first > 0 ? [...entries.slice(first, first + 1), ...entries.toSpliced(first, 1)] : entries;
  const agents = ordered.map((entry, index) =>
    resolveAgent(config, { id: DEFAULT_AGENT, ...entry }, { ...places, isDefault: index === 0 }),
  );
  refuseShared(agents, "id", ({ id }) => `agents.list has two agents with the id "${id}".`);
  refuseShared(agents, "agentDir", ({ agentDir }) => `Two agents of agents.list have the agentDir ${agentDir}.`);
  return agents;
}

function refuseShared<Key extends "id" | "agentDir">(
  agents: readonly AgentSettings[],
  key: Key,
  message: (agent: AgentSettings) => string,
): void {
  const twice = agents.find((agent, at) => agents.findIndex((other) => other[key] === agent[key]) !== at);
  if (twice)
    throw new OpenClawError("CONFIG_INVALID", {
      message: message(twice),
      fix: `Give each agent an ${key} of its own.`,
    });
}

type Entry = Partial<AgentEntry> & { readonly id: string };

function resolveAgent(config: Config, entry: Entry, places: Places & { isDefault: boolean }): AgentSettings {
  const { defaults } = config.agents;
  const contextTokens = entry.contextTokens ?? defaults.contextTokens;
  const { toolResultMaxChars } = { ...defaults.contextLimits, ...entry.contextLimits };
  // The machine's own time zone is looked up when somebody asks for it.
  let timezone = defaults.userTimezone;
  return deepFreeze({
    id: agentId(entry.id),
    ...(entry.name !== undefined && { name: entry.name }),
    ...identityOf(entry),
    workspace: workspaceOf(entry, defaults, places),
    agentDir: absolute(entry.agentDir ?? join("agents", entry.id, "agent"), places),
    model: modelOf(entry.model, defaults.model),
    ...allowedOf(entry, defaults),
    params: [...paramsOf(defaults), ...paramsOf(entry)],
    thinking: thinkingOf(entry.thinkingDefault ?? defaults.thinkingDefault),
    verbose: entry.verboseDefault ?? defaults.verboseDefault,
    timeoutMs: defaults.timeoutSeconds * 1000,
    idleTimeoutMs: defaults.llm.idleTimeoutSeconds * 1000,
    ...(contextTokens !== undefined && { contextTokens }),
    compaction: compactionOf(config, entry.contextLimits),
    ...(toolResultMaxChars !== undefined && { toolResultMaxChars }),
    ...pruningOf(defaults.contextPruning),
    ...mediaOf(defaults),
    ...memorySearchOf(config, entry, places.isDefault),
    get timezone() {
      return (timezone ??= localZone());
    },
    prompt: promptOf(entry, defaults),
    tools: toolPolicyOf(config, entry),
    messageTool: messageToolOf(config.tools.message),
    exec: { ...execOf(config.tools.exec, entry.tools?.exec), secretVariables: places.variables ?? [] },
    ...(defaults.elevatedDefault && { elevated: defaults.elevatedDefault }),
    sandbox: sandboxSettings(defaults.sandbox, entry.sandbox, places),
    ...wakingOf(config, entry, places),
    streaming: streamingOf(defaults, entry),
    typing: typingOf(config.session, defaults),
  });
}

const typingOf = (session: Config["session"], defaults: Defaults): TypingSettings => ({
  mode: session.typingMode ?? defaults.typingMode,
  everyMs: (session.typingIntervalSeconds ?? defaults.typingIntervalSeconds) * 1000,
});

/** An agent that is stopped has no heartbeats. */
function wakingOf(config: Config, entry: Entry, places: Places & { isDefault: boolean }): Partial<AgentSettings> {
  const stopped = agentStop(places.stops ?? [], entry.id);
  return stopped === undefined ? heartbeatOf(config, entry, places.isDefault) : { stopped };
}

function allowedOf(entry: Entry, defaults: Defaults): Pick<AgentSettings, "allowedModels" | "modelAliases"> {
  const models = Object.entries(entry.models ?? defaults.models ?? {});
  const modelAliases = new Map(
    models.flatMap(([name, { alias }]) => (alias === undefined ? [] : [[alias, name] as const])),
  );
  const policy = entry.modelPolicy?.allow ?? defaults.modelPolicy?.allow;
  const allowedModels = policy?.map((name) => modelAliases.get(name) ?? name) ?? models.map(([name]) => name);
  return {
    ...(allowedModels.length > 0 && { allowedModels }),
    ...(modelAliases.size > 0 && { modelAliases: Object.fromEntries(modelAliases) }),
  };
}

/** A model's own parameters override those for all models. */
function paramsOf({ params, models = {} }: Pick<Entry, "params" | "models">): NonNullable<AgentSettings["params"]> {
  const ofModels = Object.entries(models).flatMap(([model, { params: values }]) =>
    values === undefined ? [] : [{ model, values }],
  );
  return [...(params === undefined ? [] : [{ values: params }]), ...ofModels];
}

function identityOf({ identity, name }: Entry): Pick<AgentSettings, "identityName"> {
  const identityName = identity?.name ?? name;
  return identityName === undefined ? {} : { identityName };
}

/** Whether the memory is another one than that of notes. Such a memory keeps facts by itself, without a flush. */
const hasOtherMemory = ({ plugins }: Config): boolean => !["memory-core", "none"].includes(plugins.slots.memory);

function compactionOf(config: Config, own: Entry["contextLimits"]): CompactionSettings {
  const { compaction, contextLimits } = config.agents.defaults;
  const { reserveTokens, reserveTokensFloor, keepRecentTokens, model, timeoutSeconds } = compaction;
  const { customInstructions, memoryFlush, notifyUser, postCompactionSections } = compaction;
  const { enabled, ...flush } = memoryFlush;
  const identifiers = identifiersOf(compaction);
  return {
    reserveTokens: Math.max(reserveTokens, reserveTokensFloor),
    keepRecentTokens,
    ...(!compaction.enabled && { when: "asked" as const }),
    ...(model !== undefined && { model: readModelRef(model) }),
    timeoutMs: timeoutSeconds * 1000,
    ...(compaction.mode === "default" && { inOneCall: true }),
    ...(customInstructions !== undefined && { instructions: customInstructions }),
    ...(identifiers !== undefined && { identifiers }),
    ...(enabled && compaction.enabled && !hasOtherMemory(config) && { memoryFlush: flush }),
    notifyUser,
    sections: postCompactionSections,
    sectionsMaxChars: own?.postCompactionMaxChars ?? contextLimits.postCompactionMaxChars,
  };
}

function pruningOf({ mode, ttl, ...rules }: Defaults["contextPruning"]): Pick<AgentSettings, "pruning"> {
  return mode === "off" ? {} : { pruning: { ttlMs: ttl, ...rules } };
}

function promptOf(entry: Entry, defaults: Defaults): AgentSettings["prompt"] {
  const override = entry.systemPromptOverride ?? defaults.systemPromptOverride;
  const skills = entry.skills ?? defaults.skills;
  return {
    ...(override !== undefined && { override }),
    bootstrapMaxChars: entry.bootstrapMaxChars ?? defaults.bootstrapMaxChars,
    bootstrapTotalMaxChars: entry.bootstrapTotalMaxChars ?? defaults.bootstrapTotalMaxChars,
    skipBootstrap: defaults.skipBootstrap,
    ...(skills && { skills: [...skills] }),
    ...(defaults.startupContext.enabled && { startup: startupOf(defaults.startupContext) }),
  };
}

const startupOf = ({
  dailyMemoryDays: days,
  enabled: _on,
  ...limits
}: Defaults["startupContext"]): NonNullable<AgentSettings["prompt"]["startup"]> => ({ days, ...limits });

function workspaceOf(entry: Entry, defaults: Defaults, places: Places & { isDefault: boolean }): string {
  const shared = places.isDefault ? defaults.workspace : undefined;
  const given =
    entry.workspace ?? shared ?? join(places.stateDir, places.isDefault ? "workspace" : `workspace-${entry.id}`);
  return absolute(given, places);
}

function absolute(given: string, { home, stateDir }: Places): string {
  const path = given === "~" || given.startsWith("~/") ? join(home, given.slice(1)) : given;
  return isAbsolute(path) ? path : join(stateDir, path);
}

/**
 * An agent that only sets a model has the fallbacks of `agents.defaults`, and its primary model after them. An agent
 * with a list of fallbacks, even an empty one, has only those: an agent may be limited to certain models on purpose.
 */
function modelOf(own: ModelChoice, shared: ModelChoice): AgentSettings["model"] {
  const defaults = chainOf(shared);
  if (own === undefined) return defaults;
  if (typeof own !== "string") return chainOf(own);
  const primary = readModelRef(own);
  const behind = [...defaults.fallbacks, ...(defaults.primary ? [defaults.primary] : [])];
  return { primary, fallbacks: behind.filter((model) => !isSameModel(model, primary)) };
}

function chainOf(choice: ModelChoice): AgentSettings["model"] {
  if (choice === undefined) return { fallbacks: [] };
  if (typeof choice === "string") return { primary: readModelRef(choice), fallbacks: [] };
  return {
    ...(choice.primary !== undefined && { primary: readModelRef(choice.primary) }),
    fallbacks: choice.fallbacks.map(readModelRef),
  };
}

/** The reference for `provider/id`; the id may contain slashes. */
export function readModelRef(text: string): ModelRef {
  const slash = text.indexOf("/");
  return { provider: text.slice(0, slash), id: text.slice(slash + 1) };
}

function thinkingOf(level: Defaults["thinkingDefault"]): ThinkLevel {
  if (level === "adaptive") return "medium";
  return level === "max" ? "xhigh" : level;
}

function messageToolOf({ actions, allowTargets, mediaHosts, ...across }: ToolsConfig["message"]): MessageToolSettings {
  const { allowWithinProvider, allowAcrossProviders } = across.crossContext;
  const isOpen = across.allowCrossContextSend;
  return {
    actions: actions.allow,
    allowTargets,
    mediaHosts,
    crossContext: {
      allowWithinProvider: isOpen || allowWithinProvider,
      allowAcrossProviders: isOpen || allowAcrossProviders,
    },
  };
}

type OwnExec = Partial<AgentToolsConfig["exec"]>;

const secondsOf = ({ timeoutSeconds, timeoutSec }: OwnExec): number | undefined => timeoutSeconds ?? timeoutSec;

function execOf(all: ToolsConfig["exec"], own: OwnExec = {}): ExecSettings {
  // A key that an agent leaves out may be there without a value.
  const given = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
  const { host, backgroundMs, cleanupMs, notifyOnExit, notifyOnExitEmptySuccess, ...more } = { ...all, ...given };
  const { mode: _mode, applyPatch: _ofTools, timeoutSec: _one, timeoutSeconds: _other, ...rest } = more;
  const background = { afterMs: backgroundMs, keptMs: cleanupMs, notifyOnExit, notifyOnExitEmptySuccess };
  const where = host === "node" ? {} : { host };
  return {
    ...rest,
    ...where,
    ...execChoice(all, own),
    timeoutMs: (secondsOf(own) ?? secondsOf(all) ?? 0) * 1000,
    background,
  };
}

function streamingOf(defaults: Defaults, { humanDelay: own }: Entry): AgentSettings["streaming"] {
  const { minChars, maxChars, breakPreference } = defaults.blockStreamingChunk;
  return {
    blocks: defaults.blockStreamingDefault === "on",
    breakAt: defaults.blockStreamingBreak,
    chunk: { minChars, maxChars, breakPreference },
    ...pauseOf(own?.mode ?? defaults.humanDelay.mode, {
      minMs: own?.minMs ?? defaults.humanDelay.minMs,
      maxMs: own?.maxMs ?? defaults.humanDelay.maxMs,
    }),
  };
}

/** The pause of the mode `natural`. */
const NATURAL_PAUSE = { minMs: 800, maxMs: 2500 };

function pauseOf(
  mode: Defaults["humanDelay"]["mode"],
  { minMs, maxMs }: typeof NATURAL_PAUSE,
): Pick<AgentSettings["streaming"], "pause"> {
  if (mode === "off") return {};
  return { pause: mode === "natural" ? NATURAL_PAUSE : { minMs, maxMs: Math.max(minMs, maxMs) } };
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const child of Object.values(Object.getOwnPropertyDescriptors(value))) deepFreeze(child.value);
  return value;
}

const HALF_AN_HOUR_MS = 1_800_000;

/**
 * An agent's heartbeat settings. Once an agent has its own block, only such agents have heartbeats; else the default
 * agent has.
 */
function heartbeatOf(
  { agents: { defaults, list } }: Config,
  { heartbeat: own }: Partial<AgentEntry>,
  isDefault: boolean,
): Pick<AgentSettings, "heartbeat"> {
  const isWoken = own !== undefined || (isDefault && list.every(({ heartbeat }) => heartbeat === undefined));
  const config = { ...defaults.heartbeat, ...own };
  const { every = HALF_AN_HOUR_MS } = config;
  if (!isWoken || every === 0) return {};
  return { heartbeat: { everyMs: every, ...hoursOf(config, defaults.userTimezone), ...settingsOf(config) } };
}

function settingsOf(config: HeartbeatConfig): Omit<HeartbeatSettings, "everyMs" | "activeHours"> {
  const { to, accountId, model, prompt, session, timeoutSeconds } = config;
  return {
    target: config.target ?? "last",
    ...(to !== undefined && { to }),
    ...(accountId !== undefined && { accountId }),
    ...(session !== undefined && { session }),
    ...(model !== undefined && { model }),
    ...(prompt !== undefined && { prompt }),
    ...(timeoutSeconds !== undefined && { timeoutMs: timeoutSeconds * 1000 }),
    intoDirect: config.directPolicy !== "block",
    inSystemPrompt: config.includeSystemPromptSection !== false,
    ackMaxChars: config.ackMaxChars ?? 300,
    light: config.lightContext !== false,
    // With a named conversation, the heartbeat continues there.
    isolated: config.isolatedSession ?? session === undefined,
    skipWhenBusy: config.skipWhenBusy === true,
  };
}

function hoursOf(
  { activeHours }: HeartbeatConfig,
  userZone: string | undefined,
): Pick<HeartbeatSettings, "activeHours"> {
  if (!activeHours) return {};
  const { start: from, end: to, timezone } = activeHours;
  const local = localZone();
  const named = timezone === "user" ? (userZone ?? local) : timezone;
  return { activeHours: { from, to, timezone: named === "local" ? local : named } };
}

type MediaDefaults = Config["agents"]["defaults"];
type Choice = MediaDefaults["imageModel"];

const MEGABYTE = 1_048_576;

/** The models and limits of the tools for images and documents. */
function mediaOf(defaults: MediaDefaults): Pick<AgentSettings, "media"> {
  const { pdfMaxBytesMb, pdfMaxPages, imageMaxDimensionPx: imageMaxSide } = defaults;
  const image = modelsOf(defaults.imageModel);
  const pdf = modelsOf(defaults.pdfModel);
  const draw = modelsOf(defaults.imageGenerationModel);
  return {
    media: {
      imageMaxSide,
      ...(image && { image }),
      ...(pdf && { pdf }),
      ...(draw && { draw }),
      pdfMaxBytes: pdfMaxBytesMb * MEGABYTE,
      pdfMaxPages,
    },
  };
}

/** The models of a choice; undefined when the config names none. */
function modelsOf(choice: Choice): MediaModels | undefined {
  const { primary, fallbacks, timeoutMs } =
    typeof choice === "object" ? choice : { primary: choice, fallbacks: [], timeoutMs: undefined };
  const models = [...(primary === undefined ? [] : [primary]), ...fallbacks].flatMap(
    (name) => parseModelName(name) ?? [],
  );
  return models.length === 0 ? undefined : { models, ...(timeoutMs !== undefined && { timeoutMs }) };
}
