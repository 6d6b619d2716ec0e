import { answersTo } from "../../types/chat/question-end.ts";
import type { GatewayEvent } from "../../types/method.ts";
import type { Approval, ApprovalDecision } from "../../types/run/tool.ts";

/** A command that waits for approval, in the protocol's format. */
export function showApproval(approval: Approval) {
  const { id, command, cwd, reason, agentId, sessionKey, runId, principal, chat, files, variables, askedBy } = approval;
  return {
    id,
    request: {
      command,
      cwd,
      reason,
      agentId,
      sessionKey,
      runId,
      host: "gateway",
      ask: "on-miss",
      principal,
      chat,
      files,
      variables,
      ...(askedBy && { askedBy }),
      allowedDecisions: answersTo(approval),
    },
    createdAtMs: approval.createdAt,
    expiresAtMs: approval.expiresAt,
  };
}

export function approvalRequested(approval: Approval): GatewayEvent {
  return { event: "exec.approval.requested", payload: showApproval(approval), scope: "operator.approvals" };
}

export function approvalResolved(end: {
  id: string;
  decision: ApprovalDecision;
  resolvedBy?: string;
  ts: number;
}): GatewayEvent {
  return { event: "exec.approval.resolved", payload: end, scope: "operator.approvals" };
}
