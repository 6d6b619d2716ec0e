import { IN_CHAT, type ApprovalRoute, type RoutedQuestion } from "../../../dispatch/settings.ts";
import { compilePattern } from "../../../utils/text/pattern.ts";
import type { Peer } from "../../../types/chat/message.ts";
import { accountOf } from "../../accounts/accounts.ts";
import { approversOf } from "../../accounts/approvers.ts";
import { peerOfTarget } from "../../accounts/approval-targets.ts";
import type { Config } from "../../config/schema/schema.ts";

/**
 * The places where a question of a chat is shown: by `approvals.exec`, or by `approvals.plugin` for a plugin's
 * question; for a question about a command also by `execApprovals` of the chat's account. Pure.
 */
export function approvalRoute(question: RoutedQuestion, config: Config, chat?: Peer): ApprovalRoute {
  const route = generalRoute(question, config);
  const own = chat && question.askedBy === undefined ? accountRoute(question, chat, config) : undefined;
  if (!own) return route;
  return { ...route, isInChat: route.isInChat && own.isInChat, targets: [...route.targets, ...own.targets] };
}

/** The route by `execApprovals` of the chat's account; undefined where the section says nothing about the question. */
function accountRoute(
  question: RoutedQuestion,
  chat: Peer,
  config: Config,
): Omit<ApprovalRoute, "unusable"> | undefined {
  const { execApprovals } = accountOf(config, chat);
  if (!execApprovals) return undefined;
  const { enabled, target } = execApprovals;
  if (enabled === false) return { isInChat: false, targets: [] };
  const approvers = approversOf(chat, config);
  if (!isMeant(question, execApprovals) || (enabled === "auto" && approvers.length === 0)) return undefined;
  const { channel, account } = chat;
  const targets = approvers.map((id): Peer => ({ channel, account, chat: { kind: "direct", id } }));
  return { isInChat: target !== "dm", targets: target === "channel" ? [] : targets };
}

interface Filters {
  readonly agentFilter: readonly string[];
  readonly sessionFilter: readonly string[];
}

const isMeant = ({ agentId, sessionKey }: RoutedQuestion, { agentFilter, sessionFilter }: Filters): boolean =>
  (agentFilter.length === 0 || agentFilter.includes(agentId)) &&
  (sessionFilter.length === 0 || (sessionKey !== undefined && sessionFilter.some((text) => isIn(sessionKey, text))));

function generalRoute(question: RoutedQuestion, config: Config): ApprovalRoute {
  const kind = question.askedBy === "plugin" ? "plugin" : "exec";
  const { enabled, mode, targets, ...filters } = config.approvals[kind];
  if (!enabled || mode === "session" || !isMeant(question, filters)) return IN_CHAT;
  const found = targets.map((target) => peerOfTarget(target, config));
  return {
    isInChat: mode === "both",
    targets: found.filter((one) => typeof one !== "string"),
    unusable: found.flatMap((one, at) => (typeof one === "string" ? [`approvals.${kind}.targets[${at}] ${one}`] : [])),
  };
}

const isIn = (key: string, text: string): boolean => key.includes(text) || compilePattern(text).test(key);
