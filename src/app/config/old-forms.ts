import { isRecord, pathsLike, showPath, valueAt, type KeyPath, type RawNote } from "./schema/problem.ts";
import {
  below,
  each,
  emptied,
  moved,
  removed,
  replaced,
  type FormEdit,
  type FoundForm,
  type OldForm,
} from "./form-rows.ts";

export type { FormEdit } from "./form-rows.ts";

const CHANNELS = ["telegram", "whatsapp", "discord", "slack", "signal"];
/** Channels without an adapter here that had a section at the top. */
const OTHER_CHANNELS = ["imessage", "msteams", "googlechat", "matrix", "mattermost", "irc", "line"];
const STREAM_MODES = new Set(["off", "partial", "block", "progress"]);
const SPEECH = ["elevenlabs", "openai", "microsoft"];

/** Keys of the defaults of agents, and of the entry of each. */
const AGENTS = ["agents.defaults", "agents.list.*", "agents.entries.*"];

/** The defaults of agents, and the entry of each. */
const agentSections = (root: unknown): readonly KeyPath[] => [["agents", "defaults"], ...agentEntries(root)];

const agentEntries = (root: unknown): readonly KeyPath[] => [
  ...below("agents", "list")(root),
  ...below("agents", "entries")(root),
];

/** Channels, and their accounts. */
const accounts = (root: unknown): readonly KeyPath[] =>
  below("channels")(root).flatMap((channel) => [channel, ...below(...channel, "accounts")(root)]);

/** The settings of search in notes, of all agents and of each. */
const noteSearches = (root: unknown): readonly KeyPath[] =>
  agentSections(root).map((place) => [...place, "memorySearch"]);

const streaming = (value: unknown): unknown => {
  if (typeof value === "string" && STREAM_MODES.has(value)) return { mode: value };
  return typeof value === "boolean" ? { mode: value ? "partial" : "off" } : undefined;
};

const present = (root: unknown): readonly string[] =>
  CHANNELS.filter((name) => isRecord(valueAt(root, ["channels", name])));

/** `routing.groupChat.requireMention` was about the groups of every channel. */
const mentionOfAll: OldForm = (root) => {
  const path = ["routing", "groupChat", "requireMention"];
  const value = valueAt(root, path);
  if (value === undefined) return [];
  const groups = present(root)
    .map((name) => ["channels", name, "requireMention"])
    .filter((place) => valueAt(root, place) === undefined);
  return [{ path, edits: [{ path, value: undefined }, ...groups.map((place) => ({ path: place, value }))] }];
};

/** Variables that stood in `env` itself. */
const variables: OldForm = (root) =>
  below("env")(root)
    .filter((path) => typeof valueAt(root, path) === "string" && /^[A-Z_][A-Z0-9_]*$/.test(String(path[1])))
    .flatMap((path) => moved(path, ["env", "vars", String(path[1])])(root));

/** `identity` was that of the only agent. Beside a list of agents nobody knows whose it is. */
const identity: OldForm = (root) => {
  const value = valueAt(root, ["identity"]);
  const hasAgents = ["list", "entries"].some((form) => valueAt(root, ["agents", form]) !== undefined);
  if (value === undefined || hasAgents) return [];
  const remove = { path: ["identity"], value: undefined };
  const add = { path: ["agents", "list"], value: [{ id: "main", default: true, identity: value }] };
  return [{ path: ["identity"], edits: [remove, add] }];
};

/** Servers said `disabled: true`. */
const disabled =
  (place: KeyPath): OldForm =>
  (root) => {
    const path = [...place, "disabled"];
    const value = valueAt(root, path);
    if (typeof value !== "boolean") return [];
    const enabled = [...place, "enabled"];
    const add = valueAt(root, enabled) === undefined ? [{ path: enabled, value: !value }] : [];
    return [{ path, edits: [{ path, value: undefined }, ...add] }];
  };

/** Models for the case that the first one fails stood beside it. */
const fallbacks =
  (name: "model" | "imageModel"): OldForm =>
  (root) => {
    const path = ["agent", `${name}Fallbacks`];
    const value = valueAt(root, path);
    if (value === undefined) return [];
    const primary = valueAt(root, ["agent", name]);
    const chosen = isRecord(primary) ? { fallbacks: value, ...primary } : { primary, fallbacks: value };
    return [
      {
        path,
        edits: [
          { path, value: undefined },
          { path: ["agent", name], value: chosen },
        ],
      },
    ];
  };

/** Names that each had an entry of their own: the models that may be chosen, and their short names. */
const modelsOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return Object.fromEntries(value.map((name) => [String(name), {}]));
  if (!isRecord(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([alias, name]) => [String(name), { alias }]));
};

/** Protocols of providers under other names. */
const APIS: ReadonlyMap<string, string> = new Map([
  ["openai", "openai-completions"],
  ["openai-chatgpt-responses", "openai-codex-responses"],
]);

/** The places that a key with `*` for any name has in a config. */
const placesLike =
  (key: string) =>
  (root: unknown): readonly KeyPath[] =>
    pathsLike(root, key.split("."));

const minutes = (value: unknown): unknown => (typeof value === "number" ? `${value}m` : value);

/** Whole days, of which a part counts as one. */
const daysOf = (hours: unknown): unknown => (typeof hours === "number" ? Math.ceil(hours / 24) : hours);

/** The highest number that this gateway accepts for a key. OpenClaw accepts higher ones. `*` in a key means any name. */
const MOST: readonly (readonly [key: string, most: number])[] = [
  ["tools.web.search.maxResults", 10],
  ["tools.web.search.timeoutSeconds", 300],
  ["tools.web.fetch.timeoutSeconds", 300],
  ["tools.web.fetch.maxRedirects", 10],
  ["tools.sessions_spawn.attachments.maxFiles", 50],
  ["messages.tts.maxTextLength", 20_000],
  ["agents.defaults.pdfMaxPages", 100],
  ["agents.defaults.compaction.timeoutSeconds", 3600],
  ["agents.defaults.imageMaxDimensionPx", 10_000],
  ["agents.defaults.typingIntervalSeconds", 60],
  ["session.typingIntervalSeconds", 60],
  ...AGENTS.flatMap((agent): readonly (readonly [string, number])[] => [
    [`${agent}.heartbeat.timeoutSeconds`, 86_400],
    [`${agent}.memorySearch.query.maxResults`, 20],
  ]),
  ["hooks.mappings.*.timeoutSeconds", 86_400],
  ["hooks.gmail.renewEveryMinutes", 10_000],
  ...["channels.slack", "channels.slack.accounts.*"].map(
    (place) => [`${place}.thread.initialHistoryLimit`, 200] as const,
  ),
  ...Object.entries({ telegram: 2000, whatsapp: 100, discord: 500, slack: 1000, signal: 100 }).flatMap(
    ([channel, most]) =>
      [`channels.${channel}`, `channels.${channel}.accounts.*`].map((place) => [`${place}.mediaMaxMb`, most] as const),
  ),
];

const atMost = ([key, most]: (typeof MOST)[number]): OldForm =>
  each(placesLike(key), (path) =>
    replaced(
      path,
      (value) => (typeof value === "number" && value > most ? most : undefined),
      `is more than this version takes; it is read as ${most}`,
    ),
  );

/** Keys that name a model, or may. */
const NAMED_MODELS = AGENTS.flatMap((place) =>
  ["model", "imageModel", "pdfModel", "heartbeat.model", "subagents.model", "compaction.model"].flatMap((key) =>
    ["", ".primary", ".fallbacks.*"].map((part) => `${place}.${key}${part}`),
  ),
);

/** The makers of models whose names say it. */
const MAKERS: readonly (readonly [begin: RegExp, provider: string])[] = [
  [/^claude-/, "anthropic"],
  [/^(?:gpt-|o[1-9](?:-|$))/, "openai"],
  [/^gemini-/, "google"],
  [/^grok-/, "xai"],
];

/** A model without its provider: a short name of the config, else a model of one provider, else of a known maker. */
const providerOfModel =
  (path: KeyPath): OldForm =>
  (root) => {
    const whole = (name: string): string | undefined => {
      const short = valueAt(root, ["agents", "defaults", "models"]);
      const named = Object.entries(isRecord(short) ? short : {}).find(([, entry]) => aliasOf(entry) === name)?.[0];
      if (named !== undefined) return named;
      const owners = below("models", "providers")(root).filter((place) => hasModel(valueAt(root, place), name));
      const [owner, ...others] = owners.map((place) => String(place.at(-1)));
      const provider = owner ?? MAKERS.find(([begin]) => begin.test(name))?.[1];
      return provider === undefined || others.length > 0 ? undefined : `${provider}/${name}`;
    };
    return replaced(path, (value) => (typeof value === "string" && !value.includes("/") ? whole(value) : undefined))(
      root,
    );
  };

const aliasOf = (entry: unknown): unknown => valueAt(entry, ["alias"]);

function hasModel(provider: unknown, id: string): boolean {
  const models = valueAt(provider, ["models"]);
  return Array.isArray(models) && models.some((model) => valueAt(model, ["id"]) === id);
}

/** A list of what the account can do; what it does not name it cannot. */
const buttons = (value: unknown): unknown =>
  Array.isArray(value)
    ? { inlineButtons: value.some((name) => String(name).toLowerCase() === "inlinebuttons") ? "all" : "off" }
    : undefined;

/** The agents of a chat, where they were described with more. */
const agentsOfChat = (value: unknown): unknown => {
  const agents = valueAt(value, ["agents"]);
  return Array.isArray(agents) ? agents : undefined;
};

/** How Signal is reached stood in a section of its own, whose kind says whether the gateway starts signal-cli. */
const signalTransport =
  (place: KeyPath): OldForm =>
  (root) => {
    const path = [...place, "transport"];
    const given = valueAt(root, path);
    if (!isRecord(given)) return [];
    const { kind, url, ...others } = given;
    const said = {
      ...(kind === "container" ? { apiMode: "container" } : { autoStart: kind === "managed-native" }),
      ...(url !== undefined && { httpUrl: url }),
      ...others,
    };
    const news = Object.entries(said).filter(([name]) => valueAt(root, [...place, name]) === undefined);
    const edits = news.map(([name, value]) => ({ path: [...place, name], value }));
    return [{ path, edits: [{ path, value: undefined }, ...edits] }];
  };

/** `ultra` is above every level of this version. */
const think = (value: unknown): unknown => (value === "ultra" ? "max" : undefined);

/** Folders with a pattern of their files. Without one, or with one for all notes, the folder says the same. */
const folder = (value: unknown): unknown => {
  const [path, pattern] = [valueAt(value, ["path"]), valueAt(value, ["pattern"])];
  return typeof path === "string" && (pattern === undefined || pattern === "**/*.md") ? path : undefined;
};

/** The sections of the only agent, and of what was called routing, before there was a list of agents. */
const OF_ONE_AGENT: readonly OldForm[] = [
  moved(["agent", "tools"], ["tools"]),
  moved(["agent", "elevated"], ["tools", "elevated"]),
  moved(["agent", "bash"], ["tools", "exec"]),
  moved(["agent", "sandbox", "tools"], ["tools", "sandbox", "tools"]),
  moved(["agent", "subagents", "tools"], ["tools", "subagents", "tools"]),
  moved(["agent", "heartbeatMinutes"], ["agent", "heartbeat", "every"], minutes),
  moved(["agent", "allowedModels"], ["agent", "models"], modelsOf),
  moved(["agent", "modelAliases"], ["agent", "models"], modelsOf),
  fallbacks("model"),
  fallbacks("imageModel"),
  moved(["agent"], ["agents", "defaults"]),
  moved(["defaultModel"], ["agents", "defaults", "model"]),
  moved(["heartbeat"], ["agents", "defaults", "heartbeat"]),
  moved(["memorySearch"], ["agents", "defaults", "memorySearch"]),
  moved(["routing", "agents"], ["agents", "entries"]),
  moved(["routing", "defaultAgentId"], ["agents", "defaults", "agentId"]),
  moved(["routing", "agentToAgent"], ["tools", "agentToAgent"]),
  moved(["routing", "transcribeAudio"], ["audio", "transcription"]),
  moved(["routing", "queue"], ["messages", "queue"]),
  moved(["routing", "bindings"], ["bindings"]),
  moved(["routing", "allowFrom"], ["channels", "whatsapp", "allowFrom"]),
  moved(
    ["session", "maintenance", "pruneDays"],
    ["session", "maintenance", "pruneAfter"],
    (days) => `${String(days)}d`,
  ),
  mentionOfAll,
  moved(["routing", "groupChat"], ["messages", "groupChat"]),
  emptied(["messages", "groupChat"]),
  emptied(["routing"]),
  identity,
  each(agentEntries, (place) => moved([...place, "mentionPatterns"], [...place, "groupChat", "mentionPatterns"])),
  each(agentEntries, (place) => moved([...place, "sandbox", "tools"], [...place, "tools", "sandbox", "tools"])),
];

const OLD_FORMS: readonly OldForm[] = [
  ...[...CHANNELS, ...OTHER_CHANNELS].map((name) => moved([name], ["channels", name])),
  ...OF_ONE_AGENT,
  moved(["tools", "bash"], ["tools", "exec"]),
  each(below("bindings"), (place) => moved([...place, "match", "provider"], [...place, "match", "channel"])),
  each(below("broadcast"), (place) =>
    replaced(place, agentsOfChat, "is read as its list of agents, each of which answers once"),
  ),
  moved(["messages", "queue", "byProvider"], ["messages", "queue", "byChannel"]),
  moved(["browser", "ssrfPolicy", "allowPrivateNetwork"], ["browser", "ssrfPolicy", "dangerouslyAllowPrivateNetwork"]),
  moved(["gateway", "token"], ["gateway", "auth", "token"]),
  variables,
  moved(["memory", "search"], ["agents", "defaults", "memorySearch"]),
  each(below("agents", "entries"), (place) => moved([...place, "memory", "search"], [...place, "memorySearch"])),
  each(below("agents", "entries"), (place) => emptied([...place, "memory"])),
  each(noteSearches, (place) => each(below(...place, "extraPaths"), (at) => replaced(at, folder))),
  moved(["tts"], ["messages", "tts"]),
  moved(["messages", "tts", "edge"], ["messages", "tts", "providers", "microsoft"]),
  ...SPEECH.map((name) => moved(["messages", "tts", name], ["messages", "tts", "providers", name])),
  ...["voiceId", "speakerVoice", "speakerVoiceId"].map((name) =>
    each(below("messages", "tts", "providers"), (place) => moved([...place, name], [...place, "voice"])),
  ),
  each(below("messages", "tts", "providers"), (place) => moved([...place, "modelId"], [...place, "model"])),
  moved(["attachments", "ttlHours"], ["retention", "mediaDays"], daysOf),
  emptied(["attachments"]),
  moved(["media", "ttlHours"], ["retention", "mediaDays"], daysOf),
  emptied(["media"]),
  moved(["agents", "defaults", "systemAgent", "agentId"], ["agents", "defaults", "agentId"]),
  emptied(["agents", "defaults", "systemAgent"]),
  each(agentSections, (place) => removed([...place, "workspace"], (value) => value === null, "is read as unset")),
  each(agentSections, (place) =>
    moved([...place, "sandbox", "perSession"], [...place, "sandbox", "scope"], (value) =>
      value === true ? "session" : "shared",
    ),
  ),
  each(agentSections, (place) => replaced([...place, "thinkingDefault"], think)),
  ...NAMED_MODELS.map((key) => each(placesLike(key), providerOfModel)),
  ...["channels.signal", "channels.signal.accounts.*"].map((key) => each(placesLike(key), signalTransport)),
  each(accounts, (place) => replaced([...place, "streaming"], streaming)),
  each(accounts, (place) => moved([...place, "streamMode"], [...place, "streaming", "mode"])),
  ...["channels.telegram.capabilities", "channels.telegram.accounts.*.capabilities"].map((key) =>
    each(placesLike(key), (path) => replaced(path, buttons)),
  ),
  each(below("models", "providers"), (place) =>
    replaced([...place, "api"], (api) => (typeof api === "string" ? APIS.get(api) : undefined)),
  ),
  each(below("mcp", "servers"), disabled),
  ...MOST.map(atMost),
];

export interface PresentForms {
  readonly value: unknown;
  /** One warning for each old form. Its path is the key in the file. */
  readonly warnings: readonly RawNote[];
  /** The changes of the file that say the same in the forms of today. */
  readonly edits: readonly FormEdit[];
  /** The key under which the file has the value of a path. */
  readonly origin: (path: KeyPath) => KeyPath;
}

/** The forms that are found in the value as it is, each by itself. */
export const formsIn = (root: unknown): readonly FoundForm[] => OLD_FORMS.flatMap((find) => find(root));

/** The end of what is said about each. */
export const REWRITES = "; openclaw doctor --fix writes it so";

/** Reads old forms as those of today. The given value is not changed. */
export function withPresentForms(root: unknown): PresentForms {
  let value = root;
  const found: FoundForm[] = [];
  for (const find of OLD_FORMS) {
    for (const form of find(value)) {
      value = form.edits.reduce(withEdit, value);
      found.push(form);
    }
  }
  const origin = (path: KeyPath): KeyPath => originOf(path, root, found);
  const told = found.filter(({ edits, says }) => says !== undefined || edits.some((edit) => edit.value !== undefined));
  const warnings = told.map((form): RawNote => ({
    path: origin(form.path),
    at: "name",
    message: messageOf(form),
  }));
  return { value, warnings, edits: found.flatMap(({ edits }) => edits), origin };
}

/** Follows the moves back, and answers with the first place that the file has, else with the one it has most of. */
function originOf(path: KeyPath, root: unknown, found: readonly FoundForm[]): KeyPath {
  const candidates = [path];
  for (const { path: from, edits } of found.toReversed()) {
    const last = candidates.at(-1) ?? path;
    const to = edits.find(({ path: place, value }) => value !== undefined && startsWith(last, place))?.path;
    if (to !== undefined && !isWritten(root, last)) candidates.push([...from, ...last.slice(to.length)]);
  }
  const missing = candidates.map((place) => place.length - lengthIn(root, place));
  const least = candidates[missing.indexOf(Math.min(...missing))] ?? path;
  return isWritten(root, least) || least === path ? least : least.slice(0, lengthIn(root, least) + 1);
}

const isWritten = (root: unknown, path: KeyPath): boolean => valueAt(root, path) !== undefined;

/** How many parts of a path lead to something that is written. */
const lengthIn = (root: unknown, path: KeyPath): number =>
  path.findLastIndex((_part, at) => isWritten(root, path.slice(0, at + 1))) + 1;

const startsWith = (path: KeyPath, start: KeyPath): boolean =>
  start.length <= path.length && start.every((part, at) => part === path[at]);

function messageOf({ path, edits, says }: FoundForm): string {
  const written = edits.filter(({ value }) => value !== undefined).map((edit) => showPath(edit.path));
  const isSame = written.length === 1 && written[0] === showPath(path);
  const how = says ?? (isSame ? "is read in its present form" : `is read as ${written.join(", ")}`);
  return `${how}${REWRITES}`;
}

/** A copy of the data with one value changed. */
function withEdit(data: unknown, { path, value }: FormEdit): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return value;
  if (Array.isArray(data))
    return data.map((item: unknown, at) => (at === first ? withEdit(item, { path: rest, value }) : item));
  const own = isRecord(data) ? data : {};
  const child = rest.length === 0 ? value : withEdit(valueAt(own, [first]), { path: rest, value });
  const { [first]: _before, ...others } = own;
  if (rest.length === 0 && value === undefined) return others;
  return { ...own, [first]: child };
}
