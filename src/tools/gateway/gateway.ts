import { z } from "zod";
import type { GatewayActs } from "../../types/gateway-acts.ts";
import { hasOwnerRights } from "../../types/run/principal.ts";
import type { Tool, ToolContext, ToolContribution, ToolResult } from "../../types/run/tool.ts";
import { isFields } from "../../utils/fields.ts";
import { defineTool, errorResult, textResult } from "../define.ts";
import { toolSchema } from "../schema.ts";
import { refusedEdit } from "./writable.ts";

const GATEWAY_TOOL = "gateway";
const ACTIONS = ["config.get", "config.schema.lookup", "config.patch", "config.apply", "restart"] as const;

const input = z.lazy(() =>
  z.object({
    action: z.enum(ACTIONS),
    path: z.string().max(500).optional().describe("Key such as agents.defaults.model; for config.get and lookup"),
    raw: z.string().max(500_000).optional().describe("JSON: a merge patch, or for apply the whole config"),
    baseHash: z.string().optional().describe("From config.get; patch and apply need it"),
    note: z.string().max(1000).optional().describe("restart: what you are told afterwards"),
    // Not shown: older prompts use them.
    continuationMessage: z.string().max(1000).optional(),
    delayMs: z.int().min(0).max(60_000).optional(),
  }),
);
const shown = z.lazy(() => input.unwrap().omit({ continuationMessage: true, delayMs: true }));
type Input = z.output<typeof input>;

/** Reads the config, changes some of its keys, and restarts the gateway. Only runs with an owner's rights have it. */
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

/** Throws an error with a text for the model for what an agent cannot do. */
function prepare(args: unknown): unknown {
  if (!isFields(args)) return args;
  if (args["action"] === "update.run") throw new Error("An agent does not update the gateway: ask the operator to.");
  const { restartDelayMs, ...rest } = args;
  return restartDelayMs === undefined ? rest : { delayMs: restartDelayMs, ...rest };
}

/** What of it a text from outside must not cause. */
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
