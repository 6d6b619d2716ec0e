import { z } from "zod";
import type { GatewayActs, ConfigEdit } from "../../types/gateway-acts.ts";
import { hasOwnerRights } from "../../types/run/principal.ts";
import type { Tool, ToolContext, ToolContribution, ToolResult } from "../../types/run/tool.ts";
import { isFields } from "../../utils/fields.ts";
import { defineTool, errorResult, textResult } from "../define.ts";
import { toolSchema } from "../schema.ts";

const GATEWAY_TOOL = "gateway";
const ACTIONS = ["config.get", "config.schema.lookup", "config.patch", "config.apply", "restart"] as const;

const input = z.lazy(() =>
  z.object({
    action: z.enum(ACTIONS),
    path: z.string().max(500).optional().describe("Key such as agents.defaults.model; for config.get and lookup"),
    raw: z.string().max(500_000).optional().describe("JSON: a merge patch, or for apply the whole config"),
    baseHash: z.string().optional().describe("From config.get; patch and apply need it"),
    note: z.string().max(1000).optional().describe("restart: what you are told afterwards"),
    // Parameters of older prompts, which the model's schema does not show.
    continuationMessage: z.string().max(1000).optional(),
    delayMs: z.int().min(0).max(60_000).optional(),
  }),
);
const shown = z.lazy(() => input.unwrap().omit({ continuationMessage: true, delayMs: true }));
type Input = z.output<typeof input>;

/**
 * The tool `gateway`: reads the config, changes some of its keys, and restarts the gateway. Only runs with an owner's
 * rights have it.
 */
export const gatewayTool = (acts: GatewayActs): ToolContribution => ({
  name: GATEWAY_TOOL,
  appearance: ({ acting }) => (hasOwnerRights(acting.principal) ? "" : false),
  forRun: ({ acting }) => (hasOwnerRights(acting.principal) ? made(acts) : undefined),
});

function made(acts: GatewayActs): Tool {
  return defineTool<Input>({
    name: GATEWAY_TOOL,
    label: "Gateway",
    description:
      "Read the gateway's config (secrets are masked) and its schema, change the keys that agents may change, or restart the gateway. " +
      "Only when the user asks for it.",
    input,
    jsonSchema: toolSchema({ input: shown }),
    prepare,
    hasSideEffects: true,
    riskOf: async ({ action }) => RISKS[action],
    run: (asked, context) => RUNS[asked.action](asked, acts, context),
  });
}

/**
 * The arguments in their present form. Throws an error with a text for the model when an agent may not take the action.
 */
function prepare(args: unknown): unknown {
  if (!isFields(args)) return args;
  if (args["action"] === "update.run") throw new Error("An agent does not update the gateway: ask the operator to.");
  const { restartDelayMs, ...rest } = args;
  return restartDelayMs === undefined ? rest : { delayMs: restartDelayMs, ...rest };
}

/** Actions that a text from outside must not cause. */
const RISKS: Readonly<Record<Input["action"], { use: "prompt-files"; what: string } | undefined>> = {
  "config.get": undefined,
  "config.schema.lookup": undefined,
  "config.patch": { use: "prompt-files", what: "changes the gateway's config" },
  "config.apply": { use: "prompt-files", what: "changes the gateway's config" },
  restart: { use: "prompt-files", what: "restarts the gateway" },
};

type Run = (asked: Input, acts: GatewayActs, context: ToolContext) => Promise<ToolResult>;

const RUNS: Readonly<Record<Input["action"], Run>> = {
  async "config.get"({ path = "" }, acts) {
    const found = await acts.config(path);
    if (typeof found === "string") return refusal(found);
    return textResult(JSON.stringify({ baseHash: found.hash, config: found.value }, null, 1), { hash: found.hash });
  },
  async "config.schema.lookup"({ path = "" }, acts) {
    const found = await acts.schema(path);
    return typeof found === "string" ? refusal(found) : textResult(JSON.stringify(found));
  },
  "config.patch": (asked, acts) => write(asked, acts, false),
  "config.apply": (asked, acts) => write(asked, acts, true),
  async restart({ note, continuationMessage, delayMs = 0 }, acts, { runId, sessionKey }) {
    const told = [note, continuationMessage].filter((text) => text !== undefined).join(" ");
    const refused = await acts.restart({ runId, sessionKey, delayMs, ...(told !== "" && { note: told }) });
    if (refused !== undefined) return refusal(`The gateway does not restart: ${refused}`);
    const when = delayMs === 0 ? "in a moment" : `in ${delayMs / 1000} s`;
    return textResult(`The gateway restarts ${when}. End your turn now.`, { status: "restarting" });
  },
};

const refusal = (text: string, more: Record<string, unknown> = {}): ToolResult =>
  errorResult(text, { status: "error", ...more });

async function write({ raw, baseHash }: Input, acts: GatewayActs, whole: boolean): Promise<ToolResult> {
  if (raw === undefined || baseHash === undefined)
    return refusal("Give the change in `raw`, and in `baseHash` the hash that config.get returned.");
  const edits = await acts.edits(raw, { whole });
  if (typeof edits === "string") return refusal(edits);
  const refused = edits.flatMap((edit) => refusedEdit(edit) ?? []);
  if (refused.length > 0)
    return refusal(`Nothing was changed. An agent must not change:\n${refused.map((one) => `- ${one}`).join("\n")}`, {
      refused,
    });
  if (edits.length === 0) return textResult("The config has these values already.", { status: "ok", changed: [] });
  const failed = await acts.write(edits, baseHash);
  if (failed !== undefined) return refusal(failed);
  const changed = edits.map(({ path }) => path.join("."));
  return textResult(
    `Changed: ${changed.join(", ")}. It applies from the next message on. The file before it is kept as its .bak file.`,
    { status: "ok", changed },
  );
}

/**
 * Keys that an agent may change, each with everything below it. Any other key is refused, so that a new key is closed
 * at first.
 */
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

/** Reason why an agent must not change a key; the first row that fits counts. */
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

/** Key and reason of a change that an agent must not make; undefined for a change that it may make. Pure. */
function refusedEdit({ path, value }: ConfigEdit): string | undefined {
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

/**
 * Whether a value has a reference. A `${VARIABLE}` would put a secret into a text that chats or models see; an object
 * with a `source` may start a program.
 */
function hasReference(value: unknown): boolean {
  if (typeof value === "string") return value.includes("${");
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, child]: [string, unknown]) => name === "source" || hasReference(child));
}
