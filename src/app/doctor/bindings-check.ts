import { isRoute } from "../../channels/bindings.ts";
import { DEFAULT_AGENT } from "../../types/ids.ts";
import type { Check, CheckResult } from "../../types/check.ts";
import type { Config } from "../config/schema.ts";

/** Whether each binding names an existing agent and channel. */
export function bindingsCheck({ agents, bindings, channels }: Config): Check {
  const known = new Set<string>(agents.list.length > 0 ? agents.list.map(({ id }) => id) : [DEFAULT_AGENT]);
  return {
    id: "app.bindings",
    title: "Bindings",
    run: async () => {
      const found = bindings.flatMap((binding, at): CheckResult[] => {
        const { agentId, match } = binding;
        if (!isRoute(binding)) return [];
        const hasChannel = Object.hasOwn(channels, match.channel);
        return [
          ...(known.has(agentId) ? [] : [noAgent(at, agentId)]),
          ...(hasChannel ? [] : [noChannel(at, match.channel)]),
        ];
      });
      return found.length > 0
        ? found
        : [{ status: "ok", message: `${bindings.filter(isRoute).length} of them, all to agents there are.` }];
    },
  };
}

const noAgent = (at: number, id: string): CheckResult => ({
  status: "fail",
  message: `bindings[${at}]: there is no agent "${id}"; messages for it fail, and their senders are informed.`,
  fix: "Add the agent to agents.list, or take the binding out.",
});

const noChannel = (at: number, id: string): CheckResult => ({
  status: "warn",
  message: `bindings[${at}]: the config names no channel "${id}"; no message fits.`,
  fix: "Correct match.channel, or set the channel up.",
});
