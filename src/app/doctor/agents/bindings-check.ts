import { coveringBinding, isRoute, type Binding } from "../../../channels/routing/bindings.ts";
import { accountInputs } from "../../../channels/config.ts";
import { DEFAULT_AGENT } from "../../../types/ids.ts";
import type { Check, CheckResult } from "../../../types/check.ts";
import { own } from "../../../utils/own.ts";
import { defaultAccountOf } from "../../accounts/accounts.ts";
import type { Config } from "../../config/schema/schema.ts";

/** Whether each binding names an existing agent, channel and account, and can be chosen at all. */
export function bindingsCheck(config: Config): Check {
  const { agents, bindings } = config;
  const known = new Set<string>(
    agents.list.length > 0 ? agents.list.map(({ id }) => id) : [agents.defaults.agentId ?? DEFAULT_AGENT],
  );
  return {
    id: "app.bindings",
    title: "Bindings",
    run: async () => {
      const found = bindings.flatMap((binding, at): CheckResult[] => {
        if (!isRoute(binding)) return [];
        const { agentId } = binding;
        return [...(known.has(agentId) ? [] : [noAgent(at, agentId)]), ...unreachable(config, binding, at)];
      });
      const strange = [...found, ...unknownInBroadcast(config, known)];
      return strange.length > 0
        ? strange
        : [{ status: "ok", message: `${bindings.filter(isRoute).length} of them, all to agents there are.` }];
    },
  };
}

function unreachable(config: Config, { match }: Binding, at: number): readonly CheckResult[] {
  const { channel, accountId } = match;
  const section = own(config.channels, channel);
  if (section === undefined) return [noChannel(at, channel)];
  const accounts = accountInputs(section).map(({ id }) => id);
  // An adapter that has a list of accounts of its own has none in the config.
  const isUnknown = accountId !== undefined && accountId !== "*" && section.accounts !== undefined;
  if (isUnknown && !accounts.includes(accountId)) return [noAccount(at, channel, accountId)];
  const earlier = coveringBinding(config.bindings, at, (name) => defaultAccountOf(config, name));
  return earlier === undefined ? [] : [covered(at, earlier)];
}

const noAgent = (at: number, id: string): CheckResult => ({
  status: "fail",
  message: `bindings[${at}]: there is no agent "${id}"; messages for it fail, and their senders are informed.`,
  fix: "Add the agent to agents.list, or take the binding out.",
});

function unknownInBroadcast({ broadcast }: Config, known: ReadonlySet<string>): readonly CheckResult[] {
  return Object.entries(broadcast).flatMap(([chat, ids]) =>
    (Array.isArray(ids) ? ids : [])
      .filter((id) => !known.has(id))
      .map((id): CheckResult => ({
        status: "fail",
        message: `broadcast["${chat}"]: there is no agent "${id}"; messages for it fail, and their senders are informed.`,
        fix: "Add the agent to agents.list, or take it out of the list.",
      })),
  );
}

const noChannel = (at: number, id: string): CheckResult => ({
  status: "warn",
  message: `bindings[${at}]: the config names no channel "${id}"; no message fits.`,
  fix: "Correct match.channel, or set the channel up.",
});

const noAccount = (at: number, channel: string, account: string): CheckResult => ({
  status: "warn",
  message: `bindings[${at}]: ${channel} has no account "${account}"; no message fits.`,
  fix: "Correct match.accountId, or add the account.",
});

const covered = (at: number, earlier: number): CheckResult => ({
  status: "warn",
  message: `bindings[${at}] is never chosen: bindings[${earlier}] matches the same messages before it.`,
  fix: "Take one of the two out. openclaw agents bindings --channel says which one is chosen.",
});
