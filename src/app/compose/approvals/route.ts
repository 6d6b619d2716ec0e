import { IN_CHAT, type ApprovalRoute, type RoutedQuestion } from "../../../dispatch/approvals/route.ts";
import { compilePattern } from "../../../utils/text/pattern.ts";
import { peerOfTarget } from "../../accounts/approval-targets.ts";
import type { Config } from "../../config/schema.ts";

/** Where a question is shown, by `approvals.exec` or, for one of a plugin, `approvals.plugin`. Pure. */
export function approvalRoute(question: RoutedQuestion, config: Config): ApprovalRoute {
  const kind = question.askedBy === "plugin" ? "plugin" : "exec";
  const { enabled, mode, agentFilter, sessionFilter, targets } = config.approvals[kind];
  if (!enabled || mode === "session") return IN_CHAT;
  const { agentId, sessionKey } = question;
  if (agentFilter.length > 0 && !agentFilter.includes(agentId)) return IN_CHAT;
  if (sessionFilter.length > 0 && !sessionFilter.some((text) => isIn(sessionKey, text))) return IN_CHAT;
  const found = targets.map((target) => peerOfTarget(target, config));
  return {
    isInChat: mode === "both",
    targets: found.filter((one) => typeof one !== "string"),
    unusable: found.flatMap((one, at) => (typeof one === "string" ? [`approvals.${kind}.targets[${at}] ${one}`] : [])),
  };
}

const isIn = (key: string, text: string): boolean => key.includes(text) || compilePattern(text).test(key);
