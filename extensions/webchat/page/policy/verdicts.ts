import type { Answers } from "openclaw/plugin-sdk/answers";
import { keyValue, patchBetween, withValue } from "../config/draft.ts";
import type { ConfigPath } from "../config/shape.ts";
import { isRecord, list, ownText } from "../model/json.ts";
import { t } from "../words/words.ts";

export type ExplainedPolicy = Answers["policy.explain"];
type ExecRights = ExplainedPolicy["exec"];
type Trace = ExplainedPolicy["tools"][number]["trace"];
export type Step = Trace[number];
type Tool = Answers["tools.catalog"]["groups"][number]["tools"][number];

/** Whether a turn may use a tool. `asks`: a person is asked first. */
export type ToolOutcome = "allowed" | "asks" | "refused";

/** The key of the config that decides, or the rule of the gateway in words. */
export interface RuleSource {
  readonly key?: string | undefined;
  /** Place in the file, such as `openclaw.json:12`. */
  readonly place?: string | undefined;
}

/** A tool with the verdict about it. */
export interface JudgedTool extends RuleSource {
  readonly id: string;
  readonly label: string;
  readonly about: string;
  readonly group: string;
  readonly from: string | undefined;
  readonly outcome: ToolOutcome;
  readonly why: string;
  readonly trace: Trace;
}

/** Every tool of the catalogue with the verdict, in the order of the catalogue. */
export function judgedTools(catalog: Answers["tools.catalog"], explained: ExplainedPolicy): readonly JudgedTool[] {
  const verdicts = new Map(explained.tools.map((one) => [one.tool, one]));
  return catalog.groups.flatMap(({ label: group, tools }) =>
    tools.flatMap((tool): readonly JudgedTool[] => {
      const found = verdicts.get(tool.id);
      if (!found) return [];
      const verdict = found.allowed ? allowedTool(tool.id, found.trace, explained) : refusedTool(found.trace);
      return [{ ...factsOf(tool), group, trace: found.trace, ...verdict }];
    }),
  );
}

const factsOf = ({ id, label, description, pluginId, mcpServer }: Tool) => ({
  id,
  label: label === "" ? id : label,
  about: firstSentence(description),
  from:
    mcpServer === undefined
      ? pluginId && t("plugin {id}", { id: pluginId })
      : t("MCP server {name}", { name: mcpServer }),
});

/** The first sentence of a description, which was written for models. */
function firstSentence(text: string): string {
  const line = text.trim().split("\n")[0] ?? "";
  return /^.*?[.!?](?=\s|$)/.exec(line)?.[0] ?? line;
}

type Verdict = RuleSource & { readonly outcome: ToolOutcome; readonly why: string };

function refusedTool(trace: Trace): Verdict {
  const step = trace.find(({ answer }) => answer !== "allowed");
  return {
    outcome: "refused",
    why: step ? stepText(step) : t("The policy takes it away."),
    key: step?.key,
    place: step?.place,
  };
}

function allowedTool(id: string, trace: Trace, explained: ExplainedPolicy): Verdict {
  if (id === "exec") return commandsVerdict(explained);
  const step = trace.findLast(({ answer, entry }) => answer === "allowed" && entry !== undefined);
  if (step === undefined) return { outcome: "allowed", why: t("No rule takes it away.") };
  return { outcome: "allowed", why: stepText(step), key: step.key, place: step.place };
}

/** The tool `exec` is there, and the rules of commands say what it runs. */
export function commandsVerdict({
  exec: { security, ask },
  sandbox,
}: Pick<ExplainedPolicy, "exec" | "sandbox">): Verdict {
  const of = ({ key, place }: RuleSource) => ({ key, place });
  if (security.value === "deny") return { outcome: "refused", why: t("Commands are switched off."), ...of(security) };
  if (ask.value === "always") return { outcome: "asks", why: t("A person is asked about every command."), ...of(ask) };
  if (security.value === "full") return { outcome: "allowed", why: t("Every command runs."), ...of(security) };
  if (ask.value === "off")
    return { outcome: "allowed", why: t("Only commands on a list run; the others are refused."), ...of(ask) };
  if (sandbox.contained)
    return { outcome: "allowed", why: t("Commands run in a sandbox that lets nothing out, so nobody is asked.") };
  return { outcome: "asks", why: t("A person is asked about commands that are on no list."), ...of(ask) };
}

/** The rule of a step of the policy, in words. */
const RULES: Readonly<Record<string, string>> = {
  profile: t("The profile of tools"),
  optional: t("An optional tool has to be named"),
  guest: t("For guests this tool has to be named"),
  "provider profile": t("The profile of tools for this model"),
  global: t("The rules of all agents"),
  "global by provider": t("The rules of all agents for this model"),
  agent: t("The rules of the agent"),
  "agent by provider": t("The rules of the agent for this model"),
  chat: t("The rules of this chat"),
  sender: t("The rules for this person"),
  sandbox: t("The rules of the sandbox"),
  subagent: t("The rules of subagents"),
  inherited: t("The run that asked for this one"),
  "owner only": t("Only turns of an owner have it"),
  http: t("The rules of calls over HTTP"),
  run: t("Whoever starts the run"),
};

/** What a step says about a tool. */
export function stepText({ stage, answer, entry }: Step): string {
  const rule = ownText(RULES, stage) ?? stage;
  if (answer === "denied")
    return entry === undefined ? t("{rule}: denied.", { rule }) : t("{rule}: “{entry}” is denied.", { rule, entry });
  if (answer === "unlisted") return t("{rule}: it is not on the list.", { rule });
  return entry === undefined ? t("{rule}: allowed.", { rule }) : t("{rule}: “{entry}” is allowed.", { rule, entry });
}

/** Whether a source is a key of the config, as opposed to a file, a session's setting or a rule in words. */
export const isConfigKey = (key: string): boolean => !key.includes(" ") && !key.endsWith(".json");

/** How commands are decided, as a person chooses it. `full` runs everything. */
export const ASKING_MODES = [
  ["deny", t("Run no command")],
  ["allowlist", t("Run only commands on a list")],
  ["ask", t("Ask about commands that are on no list")],
  ["always", t("Ask about every command")],
  ["full", t("Run every command without a question")],
] as const;
export type ExecMode = (typeof ASKING_MODES)[number][0];

export function modeOf({ security, ask }: ExecRights): ExecMode {
  if (security.value === "deny") return "deny";
  if (ask.value === "always") return "always";
  if (security.value === "full") return "full";
  return ask.value === "off" ? "allowlist" : "ask";
}

/** The keys `security` and `ask` of a mode. */
const KEYS_OF_MODE: Readonly<Record<ExecMode, { readonly security: string; readonly ask: string }>> = {
  deny: { security: "deny", ask: "on-miss" },
  allowlist: { security: "allowlist", ask: "off" },
  ask: { security: "allowlist", ask: "on-miss" },
  always: { security: "allowlist", ask: "always" },
  full: { security: "full", ask: "off" },
};

/** Where the mode of an agent is written: with the agent where that has a key of its own, else for all agents. */
export function placeOfMode(config: unknown, agentId: string): ConfigPath {
  const entries = keyValue(config, ["agents", "list"]);
  const at = list(entries).findIndex((entry) => keyValue(entry, ["id"]) === agentId);
  const places: readonly ConfigPath[] = [
    ["agents", "entries", agentId],
    ["agents", "list", at],
  ];
  const own = places.map((place) => [...place, "tools", "exec"]);
  const isSet = (place: ConfigPath): boolean =>
    ["mode", "security", "ask"].some((name) => keyValue(config, [...place, name]) !== undefined);
  return own.find(isSet) ?? ["tools", "exec"];
}

/** The patch of the config that sets the mode of an agent's commands. */
export function modePatch(config: unknown, agentId: string, mode: ExecMode): Record<string, unknown> {
  const place = placeOfMode(config, agentId);
  const base = isRecord(config) ? config : {};
  const { security, ask } = KEYS_OF_MODE[mode];
  const set = withValue(withValue(base, [...place, "security"], security), [...place, "ask"], ask);
  const next = withValue(set, [...place, "mode"], undefined);
  return isRecord(next) ? patchBetween(base, next) : {};
}
