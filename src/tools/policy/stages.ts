import type {
  ChatToolRules,
  PolicyStage,
  PolicySubject,
  SenderNames,
  StageName,
  ToolLists,
  ToolPolicySettings,
  ToolProfile,
  ToolRules,
} from "../../types/tool-policy.ts";
import { once } from "../../utils/share-calls.ts";
import { entryFor, members, normalName } from "./names.ts";
import { senderRules } from "./senders.ts";

/** The tools of each profile. */
const PROFILES: Readonly<Record<ToolProfile, readonly string[]>> = {
  minimal: ["session_status"],
  coding: [
    ..."group:fs group:runtime group:web group:memory group:sessions cron update_plan image".split(" "),
    ..."image_generate music_generate video_generate bundle-mcp".split(" "),
  ],
  messaging: [
    "message",
    "sessions_list",
    "sessions_history",
    "sessions_search",
    "sessions_send",
    "session_status",
    "bundle-mcp",
  ],
  full: ["*"],
};

/** Tools that act on the gateway itself: only turns with an owner's rights have them. */
const OWNER_ONLY = ["cron", "gateway", "nodes"];

/** Whether only turns with an owner's rights have a tool. */
export const isOwnerOnly = (name: string): boolean => OWNER_ONLY.includes(name);

/** The profiles that have a tool, except `full`, which has all. */
export const profilesWith = (name: string): readonly string[] =>
  Object.entries(PROFILES)
    .filter(([profile, list]) => profile !== "full" && entryFor([name], list) !== undefined)
    .map(([profile]) => profile);

/** Tools that no subagent has, unless `tools.subagents.tools` names them. */
const NOT_OF_SUBAGENTS = ["gateway", "agents_list", "session_status", "cron", "sessions_send"];
/** Tools that subagents at the greatest depth do not have: there is no subagent below for these tools. */
const NOT_OF_THE_DEEPEST = ["subagents", "sessions_list", "sessions_history", "sessions_search", "sessions_spawn"];

/**
 * Tools that no client calls over HTTP unless `gateway.tools.allow` names them: the field's names, and this gateway's
 * names for the same acts (`write`, `edit` and `process`).
 */
const NOT_OVER_HTTP = [
  ..."exec process spawn shell fs_write fs_delete fs_move write edit apply_patch".split(" "),
  ..."sessions_spawn sessions_send cron gateway nodes whatsapp_login".split(" "),
];

/** Tools of runs whose tools are confined to a sandbox. */
const SANDBOX_ALLOW = [
  ..."group:fs exec process image message sessions_list sessions_history sessions_search sessions_send sessions_spawn".split(
    " ",
  ),
  ..."sessions_yield subagents session_status".split(" "),
];
const SANDBOX_DENY = ["browser", "canvas", "nodes", "cron", "gateway"];

/** The stages that a tool has to pass in a run, in their order. A stage without a rule is left out. Pure. */
export function stagesFor(settings: ToolPolicySettings, subject: PolicySubject): readonly PolicyStage[] {
  const { global, agent } = settings;
  return [
    ...profileStages(settings),
    ...providerProfile(settings, subject),
    ...listStage("global", global.key, global),
    ...(settings.planOff === undefined
      ? []
      : [{ stage: "global" as const, key: settings.planOff, deny: ["update_plan"] }]),
    ...providerStage("global by provider", global, subject),
    ...(agent ? listStage("agent", agent.key, agent) : []),
    ...(agent?.policy ? listStage("agent", `${agent.key}.policy`, agent.policy) : []),
    ...(agent ? providerStage("agent by provider", agent, subject) : []),
    ...(subject.chatRules ?? []).flatMap((rules) => chatStages(rules, subject)),
    ...senderStages(settings, subject),
    ...guestStages(settings, subject),
    ...(subject.isSandboxed === true ? [sandboxStage(settings)] : []),
    ...subagentStages(settings, subject),
    ...capStages(subject),
  ];
}

/** Whether the rules of an agent depend on the model. */
export const dependsOnModel = ({ global, agent }: ToolPolicySettings): boolean =>
  [global, agent].some((rules) => Object.keys(rules?.byProvider ?? {}).length > 0);

/** A list with entries; undefined for none. */
const filled = (list: readonly string[] | undefined): readonly string[] | undefined =>
  list === undefined || list.length === 0 ? undefined : list;

function listStage(stage: StageName, key: string, { allow, alsoAllow, deny }: ToolLists): readonly PolicyStage[] {
  const allowed = filled(allow) && joined(allow, stage === "global" || stage === "agent" ? [] : alsoAllow);
  const denied = filled(deny);
  if (!allowed && !denied) return [];
  return [{ stage, key, ...(allowed && { allow: allowed }), ...(denied && { deny: denied }) }];
}

/** Joined lists by their parts, so that the same lists give the same object, which is read once. */
const JOINED = new WeakMap<readonly string[], WeakMap<readonly string[], readonly string[]>>();
const NONE: readonly string[] = [];

function joined(one: readonly string[] = NONE, other: readonly string[] = NONE): readonly string[] {
  if (other.length === 0) return one;
  const byOther = JOINED.get(one) ?? new WeakMap<readonly string[], readonly string[]>();
  JOINED.set(one, byOther);
  const known = byOther.get(other) ?? [...one, ...other];
  byOther.set(other, known);
  return known;
}

/** Stages of the profile and of optional tools: an agent has an optional tool only if one of its lists names it. */
function profileStages({ global, agent }: ToolPolicySettings): readonly PolicyStage[] {
  const from = agent?.profile === undefined ? global : agent;
  const { profile } = from;
  const added = filled(agent?.alsoAllow) ?? filled(global.alsoAllow);
  const ofProfile: readonly PolicyStage[] =
    profile === undefined || profile === "full"
      ? []
      : [{ stage: "profile", key: `${from.key}.profile`, allow: joined(PROFILES[profile], added) }];
  if (profile === "full") return ofProfile;
  const asked = [added, global.allow, agent?.allow].reduce<readonly string[]>(
    (all, list) => joined(all, list ?? NONE),
    OPTIONAL,
  );
  return [...ofProfile, { stage: "optional", key: `${from.key}.alsoAllow`, allow: asked, ofNamedFor: "all" }];
}

/** List that names no tool but is not empty, since an empty one allows all. */
const OPTIONAL: readonly string[] = [""];

type ProviderRules = NonNullable<ToolRules["byProvider"]>;

/** Entries by their keys in one notation; several entries with the same key all hold. */
const providerEntries = once((rules: ProviderRules) => {
  const all = new Map<string, { readonly name: string; readonly entry: ProviderRules[string] }[]>();
  for (const [name, entry] of Object.entries(rules)) {
    const plain = plainModel(name);
    all.set(plain, [...(all.get(plain) ?? []), { name, entry }]);
  }
  return all;
});

/** A model's name in one notation: ` OpenAI / GPT-5` is `openai/gpt-5`. */
const plainModel = (name: string): string =>
  name
    .trim()
    .toLowerCase()
    .replace(/\s*\/\s*/, "/");

/** The entries for `provider/model`, else those for the provider. */
function byProvider({ key, byProvider: rules }: ToolRules, { model }: PolicySubject) {
  if (!model || !rules) return [];
  const entries = providerEntries(rules);
  const found = entries.get(plainModel(`${model.provider}/${model.id}`)) ?? entries.get(plainModel(model.provider));
  return (found ?? []).map(({ name, entry }) => ({ key: `${key}.byProvider[${JSON.stringify(name)}]`, entry }));
}

function providerProfile({ global, agent }: ToolPolicySettings, subject: PolicySubject): readonly PolicyStage[] {
  const found = [agent ? byProvider(agent, subject) : [], byProvider(global, subject)]
    .map((entries) => entries.filter(({ entry }) => entry.profile !== undefined))
    .find((entries) => entries.length > 0);
  return (found ?? []).flatMap(({ key, entry: { profile, alsoAllow } }): readonly PolicyStage[] => {
    if (profile === undefined || profile === "full") return [];
    return [{ stage: "provider profile", key: `${key}.profile`, allow: joined(PROFILES[profile], alsoAllow) }];
  });
}

const providerStage = (stage: StageName, rules: ToolRules, subject: PolicySubject): readonly PolicyStage[] =>
  byProvider(rules, subject).flatMap(({ key, entry }) => listStage(stage, key, entry));

/** Stages of a chat. An entry about the sender replaces the chat's own lists. */
function chatStages({ key, tools, toolsBySender }: ChatToolRules, subject: PolicySubject): readonly PolicyStage[] {
  const ofChat = tools ? listStage("chat", `${key}.tools`, tools) : [];
  const { senders } = subject;
  if (!toolsBySender || senders.length === 0) return ofChat;
  return senders.flatMap((sender) => ofSender(sender, [{ key, toolsBySender }], "chat") ?? ofChat);
}

interface BySender {
  readonly key: string;
  readonly toolsBySender?: ToolRules["toolsBySender"];
}

/** The stages of the first section with entries about the sender; undefined when no section has one. */
function ofSender(sender: SenderNames, sections: readonly BySender[], stage: StageName) {
  for (const { key, toolsBySender } of sections) {
    const rules = toolsBySender ? senderRules(toolsBySender, sender) : [];
    if (rules.length > 0)
      return rules.flatMap(({ name, lists }) =>
        listStage(stage, `${key}.toolsBySender[${JSON.stringify(name)}]`, lists),
      );
  }
  return undefined;
}

/** Stages about the senders. An agent's entry about a sender replaces the global one, even if the agent's is empty. */
const senderStages = ({ global, agent }: ToolPolicySettings, { senders }: PolicySubject): readonly PolicyStage[] =>
  senders.flatMap((sender) => ofSender(sender, agent ? [agent, global] : [global], "sender") ?? []);

/**
 * Stages of tools that are off for guests: such a tool has to be named for each person who wrote. `*` names no such
 * tool, since its author did not think of these tools.
 */
function guestStages(settings: ToolPolicySettings, subject: PolicySubject): readonly PolicyStage[] {
  if (subject.hasOwnerRights) return [];
  const { global, agent } = settings;
  const ofAll = [global, agent].flatMap((rules) => [...(rules?.allow ?? []), ...(rules?.alsoAllow ?? [])]);
  const people = subject.senders.length === 0 ? [[]] : subject.senders.map((sender) => [sender]);
  return people.map((senders) => {
    const one = { ...subject, senders };
    const stages = [
      ...(subject.chatRules ?? []).flatMap((rules) => chatStages(rules, one)),
      ...senderStages(settings, one),
    ];
    const named = [...ofAll, ...stages.flatMap(({ allow = [] }) => allow)].filter((entry) => entry.trim() !== "*");
    return { stage: "guest", key: `${(agent ?? global).key}.alsoAllow`, allow: ["", ...named], ofNamedFor: "guests" };
  });
}

/**
 * The stage of a sandbox. Each of an agent's lists replaces the global one. A tool that is allowed by name is not
 * denied by default.
 */
function sandboxStage({ global, agent }: ToolPolicySettings): PolicyStage {
  const lists: ToolLists = { ...global.sandbox, ...agent?.sandbox };
  const named = joined(lists.allow, lists.alsoAllow);
  const allow = filled(lists.allow) ? named : joined(SANDBOX_ALLOW, named);
  const deny = lists.deny ?? SANDBOX_DENY.filter((name) => entryFor([name], named) === undefined);
  return { stage: "sandbox", key: "tools.sandbox.tools", allow, deny };
}

function subagentStages(
  { global, agent, maxSpawnDepth = 1 }: ToolPolicySettings,
  { depth }: PolicySubject,
): readonly PolicyStage[] {
  if (depth === 0) return [];
  const isDeepest = depth >= maxSpawnDepth;
  const lists = [global.subagents, agent?.subagents].filter((list) => list !== undefined);
  const named = lists.flatMap(({ allow = [], alsoAllow = [] }) => [...allow, ...alsoAllow]);
  const always = [...NOT_OF_SUBAGENTS, ...(isDeepest ? NOT_OF_THE_DEEPEST : [])];
  const deny = always.filter((name) => !named.some((entry) => members(entry).includes(name)));
  return [
    { stage: "subagent", key: "a subagent has it only if tools.subagents.tools names it", deny },
    ...[global, agent].flatMap((rules) =>
      rules?.subagents ? listStage("subagent", `${rules.key}.subagents.tools`, rules.subagents) : [],
    ),
  ];
}

/** Caps that no list of the config can lift. */
function capStages({ inherited, hasOwnerRights, http, only }: PolicySubject): readonly PolicyStage[] {
  return [
    ...cap("inherited", "the run that asked for this one has only its own tools to give", inherited),
    ...(hasOwnerRights ? [] : [{ stage: "owner only" as const, key: "commands.ownerAllowFrom", deny: OWNER_ONLY }]),
    ...(http ? httpStages(http) : []),
    ...runCap(only),
  ];
}

/**
 * Stages of calls by a client, without a model and without a person who reads along. Only an entry that names a tool or
 * its group lifts the gateway's own list: the author of a wildcard did not think of these tools.
 */
function httpStages({ allow = [], deny }: ToolLists): readonly PolicyStage[] {
  const named = new Set(allow.flatMap((entry) => members(entry)));
  const own = NOT_OVER_HTTP.filter((name) => !named.has(normalName(name)));
  return [
    { stage: "http", key: "a client calls it over HTTP only if gateway.tools.allow names it", deny: own },
    ...listStage("http", "gateway.tools", { deny }),
  ];
}

/** The stage that leaves a run only these tools: none when the list is empty, all when it is unset. Pure. */
export const runCap = (only: readonly string[] | undefined): readonly PolicyStage[] =>
  cap("run", "toolsAllow of whoever started the run", only);

function cap(stage: StageName, key: string, names: readonly string[] | undefined): readonly PolicyStage[] {
  if (!names) return [];
  return [names.length === 0 ? { stage, key, isEmpty: true } : { stage, key, allow: names }];
}
