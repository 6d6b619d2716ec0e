import type { ConfigEdit } from "../../types/gateway-acts.ts";

/** Keys that an agent may change, each with everything below it. Any other key is refused, so that a new key is closed at first. */
const OPEN: readonly string[] = [
  "messages",
  ..."resetTriggers idleMinutes reset resetByType resetByChannel dmHistoryLimit"
    .split(" ")
    .map((key) => `session.${key}`),
  ...[
    ..."model thinkingDefault timeoutSeconds userTimezone contextTokens contextLimits contextPruning".split(" "),
    ..."imageMaxDimensionPx bootstrapMaxChars bootstrapTotalMaxChars blockStreamingDefault blockStreamingBreak".split(
      " ",
    ),
    ..."blockStreamingChunk blockStreamingCoalesce humanDelay typingMode typingIntervalSeconds".split(" "),
  ].map((key) => `agents.defaults.${key}`),
];

/** Why an agent must not change a key; the first row that fits counts. */
const CLOSED: readonly (readonly [key: string, reason: string])[] = [
  ["gateway", "it says who can reach the gateway, and how clients sign in"],
  ["auth", "it says which keys are used"],
  ["models", "it holds keys, and says where prompts are sent"],
  ["channels", "it holds accounts, and says who may write to them and who may approve"],
  ["bindings", "it says which agent answers whom"],
  ["broadcast", "it says which agents answer whom"],
  ["commands", "it names the owners"],
  ["tools", "it says what agents may do"],
  ["approvals", "it says who is asked to approve commands"],
  ["agents.list", "it holds the tools and the sandbox of agents"],
  ["agents.entries", "it holds the tools and the sandbox of agents"],
  ["agents.defaults.sandbox", "it confines the commands of agents"],
  ["agents.defaults.elevatedDefault", "it lets commands leave the sandbox"],
  ["agents.defaults.workspace", "it says which files agents may change"],
  ["agents.defaults.systemPromptOverride", "it replaces the instructions of agents"],
  ["agents.defaults.subagents", "it says what agents may start"],
  ["agents.defaults.models", "it says which models may be used"],
  ["agents.defaults.heartbeat", "it starts turns that nobody asked for"],
  ["mcp", "it names programs that the gateway starts"],
  ["plugins", "plugins run inside the gateway"],
  ["hooks", "hooks run inside the gateway"],
  ["cron", "it starts turns that nobody asked for"],
  ["skills", "it says which instructions and variables agents get"],
  ["audio", "it names programs that the gateway starts"],
  ["env", "it holds variables of the gateway"],
  ["logging", "it says what is recorded"],
  ["session.scope", "it says whose conversations are joined"],
  ["session.dmScope", "it says whose conversations are joined"],
  ["session.identityLinks", "it says whose conversations are joined"],
  ["session.sendPolicy", "it says who is answered"],
];

const OTHERWISE = "only an operator may change it";

/** Why an agent must not make this change, with the key; undefined when it may. Pure. */
export function refusedEdit({ path, value }: ConfigEdit): string | undefined {
  const key = path.join(".");
  const shown = key === "" ? "the whole config" : key;
  if (path.some((segment) => typeof segment === "string" && /[.[\]"$]/.test(segment)))
    return `${shown}: a key's name has characters that an agent must not write`;
  if (!OPEN.some((open) => isWithin(key, open))) {
    const reason = CLOSED.find(([closed]) => isWithin(key, closed) || isWithin(closed, key))?.[1] ?? OTHERWISE;
    return `${shown}: ${reason}`;
  }
  if (hasReference(value)) return `${shown}: an agent must not refer to variables or secrets`;
  return undefined;
}

const isWithin = (key: string, parent: string): boolean =>
  parent === "" || key === parent || key.startsWith(`${parent}.`);

/** A `${VARIABLE}` would put a secret into a text that chats or models see; an object with a `source` may start a program. */
function hasReference(value: unknown): boolean {
  if (typeof value === "string") return value.includes("${");
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, child]: [string, unknown]) => name === "source" || hasReference(child));
}
