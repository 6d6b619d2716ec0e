import { isAbsolute, join, relative } from "node:path";
import type { AgentSettings } from "../../types/settings.ts";
import { expandHome, type Env } from "../../utils/env.ts";
import { isFields, type Fields } from "../../utils/fields.ts";
import { isInside } from "../../utils/real-path.ts";
import { withPresentForms } from "../config/old-forms.ts";
import { isRecord, showPath, valueAt, type KeyPath } from "../config/schema/problem.ts";
import { EXEC_MODES, execChoice } from "../../tools/exec-mode.ts";
import { fitConfig } from "./config-fit.ts";

/** A key that stays behind. `restricts`: without it OpenClaw allows more than this gateway. */
export interface LeftConfigKey {
  readonly key: string;
  readonly why: string;
  readonly restricts: boolean;
}

export interface ExportedConfig {
  readonly value: Fields;
  readonly left: readonly LeftConfigKey[];
  /** Keys that are written out because OpenClaw has another default. */
  readonly added: readonly string[];
}

/** Where things are, and will be. */
export interface ConfigPlaces {
  readonly stateDir: string;
  /** The directory that OpenClaw will open. */
  readonly to: string;
  readonly env: Env;
  readonly agents: readonly Pick<AgentSettings, "id" | "workspace">[];
  readonly dmScope: string;
  /** A new token of the gateway, for a config that says nothing of how clients sign in. */
  readonly token: string;
}

/** Keys whose loss lets somebody or something do more. */
const RESTRICTING =
  /(?:^|\.)(?:budgets|untrusted|askFallback|sandbox|deny|allow\w*|dmPolicy|groupPolicy|security|ask|ssrfPolicy|webhookSsrfPolicy|mediaHosts|verify|sendPolicy|requireMention|toolsBySender|policy)(?:\.|\[|$)/;

/** The config for OpenClaw 2026.5.20: the same settings, without those that it refuses. `value` is as it stands in the files. Pure. */
export function configForOpenClaw(value: unknown, places: ConfigPlaces): ExportedConfig {
  const present = withPresentForms(value).value;
  const rewritten = REWRITES.reduce((config, rewrite) => rewrite(config), isFields(present) ? present : {});
  const { config, added } = withDefaults(inNewPlace(rewritten, places), places);
  const fitted = fitConfig(config);
  const left = fitted.left.map(({ path, why }) => {
    const key = showPath(path);
    return { key, why, restricts: RESTRICTING.test(key) };
  });
  return { value: fitted.value, left, added };
}

type Rewrite = (config: Fields) => Fields;

/** The same settings in the form of 2026.5.20. */
const REWRITES: readonly Rewrite[] = [
  entriesAsList,
  defaultAgentMarked,
  (config) => changedAt(config, ["tools", "exec"], execWords),
  (config) => eachAgent(config, (agent) => changedAt(agent, ["tools", "exec"], execWords)),
  (config) => changedAt(config, ["messages", "queue"], queueWords),
  (config) => changedAt(config, ["mcp", "servers"], withoutStdio),
  (config) => changedAt(config, ["gateway"], ({ adopt: _adopt, ...others }) => others),
];

/** `agents.entries` is the list of later versions. */
function entriesAsList(config: Fields): Fields {
  const agents = fieldsAt(config, ["agents"]);
  const { entries, ...others } = agents;
  if (!isRecord(entries)) return config;
  const list: readonly unknown[] = Array.isArray(agents["list"]) ? agents["list"] : [];
  const named = Object.entries(entries).map(([id, entry]) => ({ id, ...(isFields(entry) ? entry : {}) }));
  return { ...config, agents: { ...others, list: [...list, ...named] } };
}

function defaultAgentMarked(config: Fields): Fields {
  const { agentId, ...defaults } = fieldsAt(config, ["agents", "defaults"]);
  if (typeof agentId !== "string") return config;
  const bare = { ...config, agents: { ...fieldsAt(config, ["agents"]), defaults } };
  const list = valueAt(config, ["agents", "list"]);
  const all: readonly unknown[] = Array.isArray(list) ? list : [{ id: agentId }];
  if (all.some((entry) => valueAt(entry, ["default"]) === true)) return bare;
  const marked = all.map((entry) => (isFields(entry) && entry["id"] === agentId ? { ...entry, default: true } : entry));
  return { ...bare, agents: { ...fieldsAt(bare, ["agents"]), list: marked } };
}

function execWords({ mode, timeoutSeconds, ...others }: Fields): Fields {
  const known = EXEC_MODES.find((one) => one === mode);
  return {
    ...others,
    ...(known !== undefined && execChoice({ mode: known })),
    ...(timeoutSeconds !== undefined && { timeoutSec: timeoutSeconds }),
  };
}

const queueWords = ({ mode, ...others }: Fields): Fields => ({
  ...others,
  ...(mode !== undefined && { mode: (typeof mode === "string" && QUEUE_MODES[mode]) || mode }),
});

const QUEUE_MODES: Readonly<Record<string, string>> = {
  queue: "followup",
  "steer-backlog": "steer",
  "steer+backlog": "steer",
};

const withoutStdio = (servers: Fields): Fields =>
  mapped(servers, (server) => {
    if (!isFields(server) || server["transport"] !== "stdio") return server;
    const { transport: _transport, ...others } = server;
    return others;
  });

/** Paths in the state directory are those of the new one, and a folder that OpenClaw looks for elsewhere is named. */
function inNewPlace(config: Fields, { stateDir, to, env, agents }: ConfigPlaces): Fields {
  const moved = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(moved);
    if (isFields(value)) return mapped(value, moved);
    if (typeof value !== "string" || !/^[~/]/.test(value)) return value;
    const path = expandHome(value, env);
    return isAbsolute(path) && isInside(path, stateDir) ? join(to, relative(stateDir, path)) : value;
  };
  const all = mapped(config, moved);
  const bare = eachAgent(all, ({ agentDir: _dir, ...agent }) => agent);
  const placeOf = (workspace: string) =>
    isInside(workspace, stateDir) ? join(to, relative(stateDir, workspace)) : workspace;
  const [first] = agents;
  const withShared = first ? withValue(bare, ["agents", "defaults", "workspace"], placeOf(first.workspace)) : bare;
  return eachAgent(withShared, (agent) => {
    const settings = agents.find(({ id }) => id === agent["id"]);
    return settings ? { ...agent, workspace: placeOf(settings.workspace) } : agent;
  });
}

/** Values that both have by default, but not the same one: the narrower one is written out. */
function withDefaults(config: Fields, { dmScope, token }: ConfigPlaces): { config: Fields; added: readonly string[] } {
  const exec = execChoice({});
  const wanted: readonly (readonly [KeyPath, unknown])[] = [
    [["gateway", "mode"], "local"],
    [["gateway", "bind"], "loopback"],
    ...(Object.keys(fieldsAt(config, ["gateway", "auth"])).some((name) => SIGN_IN.has(name))
      ? []
      : [[["gateway", "auth", "token"], token] as const]),
    [["session", "dmScope"], dmScope],
    [["tools", "exec", "security"], exec.security],
    [["tools", "exec", "ask"], exec.ask],
  ];
  const added = wanted.filter(([path, value]) => {
    const given = valueAt(config, path);
    return given === undefined || (path.at(-1) === "dmScope" && given !== value);
  });
  return {
    config: added.reduce((before, [path, value]) => withValue(before, path, value), config),
    added: added.map(([path]) => showPath(path)),
  };
}

/** Keys of `gateway.auth` that say how clients sign in. */
const SIGN_IN = new Set(["mode", "token", "password"]);

const fieldsAt = (value: unknown, path: KeyPath): Fields => {
  const found = valueAt(value, path);
  return isFields(found) ? found : {};
};

const mapped = (fields: Fields, change: (value: unknown) => unknown): Fields =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, change(value)]));

function changedAt(config: Fields, path: KeyPath, change: (section: Fields) => Fields): Fields {
  const found: unknown = valueAt(config, path);
  return isFields(found) ? withValue(config, path, change(found)) : config;
}

function withValue(config: Fields, [name, ...rest]: KeyPath, value: unknown): Fields {
  if (name === undefined) return config;
  const below = config[String(name)];
  return {
    ...config,
    [String(name)]: rest.length === 0 ? value : withValue(isFields(below) ? below : {}, rest, value),
  };
}

function eachAgent(config: Fields, change: (agent: Fields) => Fields): Fields {
  const list = valueAt(config, ["agents", "list"]);
  if (!Array.isArray(list)) return config;
  return withValue(
    config,
    ["agents", "list"],
    list.map((agent: unknown) => (isFields(agent) ? change(agent) : agent)),
  );
}
