import { daemonTools } from "../../../scripts/docs/daemon-tools.ts";
import { ttsContribution } from "../../../src/tools/media/tts.ts";
import { gatewayTool } from "../../../src/tools/gateway/gateway.ts";
import type { GatewayActs } from "../../../src/types/gateway-acts.ts";
import { sessionTools } from "../../../src/tools/session/session-tools.ts";
import { agentId, sessionKey, type SessionKey } from "../../../src/types/ids.ts";
import type { Plan } from "../../../src/types/plan.ts";
import type { SessionActs } from "../../../src/types/session-acts.ts";
import type { ToolContribution } from "../../../src/types/run/tool.ts";

/** A gateway without a config that nothing can change. */
const NO_GATEWAY: GatewayActs = {
  config: async () => ({ hash: "none", value: {} }),
  schema: async () => "The schema has no key at this path.",
  edits: async () => [],
  write: async () => "It cannot be written.",
  restart: async () => "it is not running.",
};

const none = async (): Promise<never> => {
  throw new Error("there is no service");
};
const tts = ttsContribution({ levelOf: () => "off", services: ["local"], speak: none, keep: none });

/** The tools on sessions, with the plans and models that they set. There are two sessions, `s1` and `s2`, and one that is hidden, `s3`. */
export interface SessionToolsKit {
  readonly plans: Map<SessionKey, Plan>;
  readonly models: Map<SessionKey, string>;
  readonly contributions: readonly ToolContribution[];
}

export function sessionToolsKit(mayStart: readonly string[] = []): SessionToolsKit {
  const plans = new Map<SessionKey, Plan>();
  const models = new Map<SessionKey, string>();
  const known = ["s1", "s2", "s3"].map((key) => sessionKey(key));
  const acts: SessionActs = {
    named: (text) => sessionKey(text.replace(/^agent:main:/, "")),
    shown: (key) => `agent:main:${key}`,
    async keepPlan(key, plan) {
      plans.set(key, plan);
    },
    status: async (key, { isOwner }) =>
      known.includes(key) ? `Session: ${key}${isOwner ? "\nGateway: fine" : ""}` : undefined,
    whyHidden: (key) => (key === "s3" ? "It is hidden." : undefined),
    async chooseModel(key, model) {
      if (model === "forbidden") return "That model may not be used here.";
      models.set(key, model);
      return undefined;
    },
    agents: () => ({
      all: [{ id: agentId("main") }, { id: agentId("work"), name: "Work" }, { id: agentId("home") }],
      mayStart,
    }),
  };
  return { plans, models, contributions: [...sessionTools(acts), gatewayTool(NO_GATEWAY), ...daemonTools, tts] };
}
