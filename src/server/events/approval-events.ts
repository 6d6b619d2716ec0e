import { answersTo, type EndedQuestion, type QuestionEnd } from "../../types/chat/question-end.ts";
import type { GatewayEvent } from "../../types/method.ts";
import type { Approval, ApprovalDecision } from "../../types/run/tool.ts";
import { shorten } from "../../utils/text/shorten.ts";

/** The protocol's two kinds of questions: a plugin asks, or the gateway asks about a command or a budget. */
export type ApprovalKind = "exec" | "plugin";

type Asked = Pick<Approval, "id" | "command" | "askedBy" | "plugin" | "agentId" | "createdAt" | "expiresAt">;

export const approvalKind = ({ askedBy }: { readonly askedBy?: Approval["askedBy"] | undefined }): ApprovalKind =>
  askedBy === "plugin" ? "plugin" : "exec";

/** A question that waits for a person, in the protocol's format. */
export function showApproval(approval: Approval) {
  const { id, command, cwd, reason, agentId, sessionKey, runId, principal, chat, files, variables, askedBy } = approval;
  const kind = approvalKind(approval);
  return {
    id,
    approvalKind: kind,
    request: {
      ...(kind === "plugin" && pluginWords(approval)),
      command,
      cwd,
      reason,
      agentId,
      ...(sessionKey !== undefined && { sessionKey }),
      ...(runId !== undefined && { runId }),
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

/** Characters of a title and of a description in the protocol. */
const MOST_TITLE = 80;
const MOST_DESCRIPTION = 512;

const cut = (text: string, most: number) => shorten(text, most, () => "…");

function pluginWords({ plugin = {}, command, reason = "" }: Asked & { readonly reason?: string }) {
  const { title, description, severity = "warning", toolName = null, pluginId = null } = plugin;
  return {
    title: cut(title ?? (reason === "" ? command : reason), MOST_TITLE),
    description: cut(description ?? command, MOST_DESCRIPTION),
    severity,
    toolName,
    pluginId,
  };
}

/** A command that waits, as the protocol shows it. */
export const commandFacts = ({ command, agentId }: Pick<Asked, "command" | "agentId">) => ({
  commandText: command,
  commandPreview: null,
  host: "gateway",
  nodeId: null,
  agentId,
});

/** A question in the form in which it is looked up: what is asked, and how it ended. */
export function showRecord(asked: (Approval & { readonly answers?: undefined }) | EndedQuestion) {
  const { id, createdAt, expiresAt, sessionKey, agentId } = asked;
  const allowedDecisions = asked.answers ?? answersTo(asked);
  const presentation =
    approvalKind(asked) === "plugin"
      ? { kind: "plugin" as const, ...pluginWords(asked), agentId, allowedDecisions }
      : { kind: "exec" as const, ...commandFacts(asked), warningText: null, allowedDecisions };
  const shown = { id, urlPath: `/approve/${id}`, createdAtMs: createdAt, expiresAtMs: expiresAt, presentation };
  if (!("end" in asked)) return { ...shown, status: "pending" as const };
  const source = { agentId, ...(sessionKey !== undefined && { sessionKey }) };
  return { ...shown, resolvedAtMs: asked.at, ...endOf(asked.end), source };
}

/** Why a question has ended, in the protocol's words. */
export const REASONS: Readonly<Record<QuestionEnd["how"], string>> = {
  "allow-once": "user",
  "allow-always": "user",
  deny: "user",
  timeout: "timeout",
  abort: "run-aborted",
  restart: "gateway-restart",
};

function endOf({ how, by }: QuestionEnd) {
  const reason = REASONS[how];
  if (how === "timeout") return { status: "expired" as const, reason };
  if (how === "abort" || how === "restart") return { status: "cancelled" as const, reason };
  const kind = by?.includes(":") === true ? "channel" : "runtime";
  const resolver = by === undefined ? {} : { resolver: { kind, id: by } };
  return { status: how === "deny" ? ("denied" as const) : ("allowed" as const), decision: how, reason, ...resolver };
}

export function approvalRequested(approval: Approval): GatewayEvent {
  const event = `${approvalKind(approval)}.approval.requested`;
  return { event, payload: showApproval(approval), scope: "operator.approvals" };
}

export function approvalResolved(
  end: { readonly id: string; readonly decision: ApprovalDecision; readonly resolvedBy?: string; readonly ts: number },
  kind: ApprovalKind,
): GatewayEvent {
  return { event: `${kind}.approval.resolved`, payload: end, scope: "operator.approvals" };
}
