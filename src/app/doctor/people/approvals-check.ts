import { join } from "node:path";
import { shownApprovals } from "../../../store/exec-approvals-document.ts";
import { EXEC_APPROVALS_FILE } from "../../../tools/exec/rules/document.ts";
import type { Check, CheckResult } from "../../../types/check.ts";
import { peerOfTarget, type ApprovalTarget } from "../../accounts/approval-targets.ts";
import { whyNobodyHeard } from "../../../channels/access/gating.ts";
import { channelPolicyOf } from "../../../channels/access/policy.ts";
import { accountKey, accountOf } from "../../accounts/accounts.ts";
import { hasApproverIn } from "../../accounts/approvers.ts";
import type { StatePaths } from "../../config/paths.ts";
import type { Config } from "../../config/schema/schema.ts";

/** Whether the rules of commands can be read. While they cannot, every command is asked about. */
export const allowedCheck = ({ stateDir }: Pick<StatePaths, "stateDir">): Check => ({
  id: "app.exec-approvals",
  title: "Rules of commands",
  run: async () => {
    const { path, exists } = shownApprovals(join(stateDir, EXEC_APPROVALS_FILE));
    return [{ status: "ok", message: exists ? `${path} can be read.` : "None are kept." }];
  },
});

/** Whether the questions of commands and plugins reach somebody in the targets of `approvals`. */
export function approvalsCheck(config: Config): Check {
  return {
    id: "app.approvals",
    title: "Approval targets",
    run: async () => {
      const { exec, plugin } = config.approvals;
      const found = [...routeResults("exec", exec, config), ...routeResults("plugin", plugin, config)];
      const count = exec.targets.length + plugin.targets.length;
      return found.length > 0
        ? found
        : [{ status: "ok", message: count === 0 ? "None; questions go to their chats." : `${count} usable.` }];
    },
  };
}

type Route = Config["approvals"]["exec"];

function routeResults(kind: string, { enabled, mode, targets }: Route, config: Config): readonly CheckResult[] {
  const key = `approvals.${kind}`;
  const isRouted = enabled && mode !== "session";
  if (!isRouted) return targets.length > 0 ? [unused(key, enabled)] : [];
  if (targets.length === 0) return [noTargets(key, mode)];
  return targets.flatMap((target, at) => targetResults(`${key}.targets[${at}]`, target, config));
}

function targetResults(key: string, target: ApprovalTarget, config: Config): readonly CheckResult[] {
  const peer = peerOfTarget(target, config);
  if (typeof peer === "string")
    return [
      {
        status: "fail",
        message: `${key} ${peer}; no question reaches it.`,
        fix: "Correct the target, or set its channel and account up: openclaw channels list --all.",
      },
    ];
  const unheard = whyNobodyHeard(peer.chat, channelPolicyOf(accountOf(config, peer), NO_DEFAULTS));
  if (unheard !== undefined)
    return [
      {
        status: "warn",
        message: `${key}: nobody can answer in that chat, since the gateway takes no message and no press from it: ${unheard}.`,
        fix: `Let the chat in (${accountKey(config, peer)}.${peer.chat.kind === "group" ? "groups" : "dmPolicy"}), or name another target.`,
      },
    ];
  if (hasApproverIn(peer.channel, config)) return [];
  return [
    {
      status: "warn",
      message: `${key}: nobody in ${peer.channel} may answer, since commands.ownerAllowFrom names no owner there.`,
      fix: `Name an owner: openclaw config set commands.ownerAllowFrom '["${peer.channel}:<id>"]'.`,
    },
  ];
}

/** The part of a policy from `messages`, which does not matter here. */
const NO_DEFAULTS = { mentionPatterns: [], historyLimit: 0 };

const unused = (key: string, enabled: boolean): CheckResult => ({
  status: "warn",
  message: `${key}.targets get no question, since ${enabled ? `${key}.mode is session` : `${key}.enabled is false`}.`,
  fix: enabled ? `Set ${key}.mode to targets or both.` : `Set ${key}.enabled to true.`,
});

const noTargets = (key: string, mode: Route["mode"]): CheckResult => ({
  status: mode === "targets" ? "fail" : "warn",
  message: `${key}.mode is ${mode}, and ${key}.targets is empty${mode === "targets" ? ": only operator clients are asked" : ""}.`,
  fix: `Name a target in ${key}.targets, or set ${key}.mode to session.`,
});
