import { z } from "zod";
import { approvalAnswers, PERSONS_ANSWERS } from "../../types/answers/approvals.ts";
import { endText, type QuestionEnd } from "../../types/chat/question-end.ts";
import { pairingAnswers } from "../../types/answers/pairing.ts";
import { defineMethod, MethodError, type Method } from "../../types/method.ts";
import { showApproval } from "../events/approval-events.ts";
import type { Approval } from "../../types/run/tool.ts";
import type { Hub } from "../transport/hub.ts";
import type { ServerPorts } from "../options.ts";

/** Methods for commands and strangers that wait for an approval. */
export function approvalMethods(ports: Pick<ServerPorts, "chat" | "pairing">, hub: Hub): readonly Method[] {
  const { approvals } = ports.chat;
  const isOfPlugin = ({ askedBy }: Approval) => askedBy === "plugin";
  return [
    ...questionMethods("exec", () => approvals.list(), approvals),
    ...questionMethods("plugin", () => approvals.list().filter(isOfPlugin), approvals),
    ...pairingMethods(ports, hub),
  ];
}

/** The methods of one kind of question. Ids are of all kinds. */
function questionMethods(
  kind: "exec" | "plugin",
  list: () => readonly Approval[],
  approvals: ServerPorts["chat"]["approvals"],
): readonly Method[] {
  return [
    defineMethod({
      name: `${kind}.approval.list`,
      scope: "operator.approvals",
      params: z.looseObject({}),
      result: approvalAnswers.list,
      run: async () => list().map(showApproval),
    }),
    defineMethod({
      name: `${kind}.approval.resolve`,
      scope: "operator.approvals",
      params: z.looseObject({ id: z.string().min(1), decision: z.enum(PERSONS_ANSWERS) }),
      result: approvalAnswers.resolve,
      run: async ({ id, decision }) => {
        if (approvals.resolve(id, decision)) return { ok: true, id, decision };
        const offered = approvals.offered(id);
        throw offered ? notOffered(decision, offered) : tooLate(await approvals.endOf(id));
      },
    }),
  ];
}

const notOffered = (decision: string, allowedDecisions: readonly string[]): MethodError =>
  new MethodError("INVALID_REQUEST", `this approval does not offer ${decision}`, {
    details: { code: "APPROVAL_DECISION_NOT_ALLOWED", allowedDecisions },
  });

/** Why an answer is not taken: the same code for each `reason`, because the field's clients know only that one. */
function tooLate(end: QuestionEnd | undefined): MethodError {
  const code = "APPROVAL_NOT_FOUND";
  if (end === undefined)
    return new MethodError("NOT_FOUND", "unknown approval id", { details: { code, reason: "unknown" } });
  const { how, by } = end;
  const details = { code, reason: REASONS[how], decision: how, ...(by !== undefined && { resolvedBy: by }) };
  return new MethodError("NOT_FOUND", `this approval waits no more: ${endText(end)}`, { details });
}

const REASONS: Readonly<Record<QuestionEnd["how"], string>> = {
  "allow-once": "resolved",
  "allow-always": "resolved",
  deny: "resolved",
  timeout: "expired",
  abort: "run-aborted",
  restart: "gateway-restart",
};

function pairingMethods({ pairing }: Pick<ServerPorts, "pairing">, hub: Hub): readonly Method[] {
  return [
    defineMethod({
      name: "pairing.list",
      scope: "operator.pairing",
      params: z.looseObject({ channel: z.string().min(1).optional() }),
      result: pairingAnswers.list,
      run: async ({ channel }) => {
        const isWanted = (row: { readonly channel: string }) => channel === undefined || row.channel === channel;
        const [requests, turnedAway] = await Promise.all([pairing.list(), pairing.turnedAway()]);
        return { requests: requests.filter(isWanted), turnedAway: turnedAway.filter(isWanted) };
      },
    }),
    defineMethod({
      name: "pairing.approve",
      scope: "operator.pairing",
      params: approveParams,
      result: pairingAnswers.approve,
      run: async (params) => approve(params, pairing, hub),
    }),
  ];
}

const approveParams = z.looseObject({
  channel: z.string().min(1),
  /** The code, or the stranger's id on the platform. */
  code: z.string().min(1).max(256),
  accountId: z.string().min(1).optional(),
  /** Whether the stranger gets a message about it. */
  notify: z.boolean().optional(),
});

async function approve(
  { channel, code, accountId, notify }: z.infer<typeof approveParams>,
  pairing: ServerPorts["pairing"],
  hub: Hub,
) {
  const request = await pairing.approve(channel, code, accountId);
  if (request === undefined) {
    throw new MethodError(
      "NOT_FOUND",
      `no request on ${channel} has this code or id, or several accounts have one with the id`,
    );
  }
  const { account, senderId } = request;
  const payload = { channel, account, senderId, decision: "approved" };
  hub.publish({ event: "pairing.resolved", payload, scope: "operator.pairing" });
  const notified = notify === true ? { notified: await pairing.notify(request) } : {};
  return { ok: true, request, ...notified };
}
