import { z } from "zod";
import { defineMethod, MethodError, type Method } from "../../types/method.ts";
import { showApproval } from "../approval-events.ts";
import type { Hub } from "../hub.ts";
import type { ServerPorts } from "../options.ts";

/** Commands that wait for a person, and strangers that do. */
export function approvalMethods(ports: Pick<ServerPorts, "chat" | "pairing">, hub: Hub): readonly Method[] {
  const { approvals } = ports.chat;
  return [
    defineMethod({
      name: "exec.approval.list",
      scope: "operator.approvals",
      params: z.looseObject({}),
      run: async () => approvals.list().map(showApproval),
    }),
    defineMethod({
      name: "exec.approval.resolve",
      scope: "operator.approvals",
      params: z.looseObject({ id: z.string().min(1), decision: z.enum(["allow-once", "allow-always", "deny"]) }),
      run: async ({ id, decision }) => {
        if (approvals.resolve(id, decision)) return { ok: true, id, decision };
        throw new MethodError("NOT_FOUND", "unknown or expired approval id", {
          details: { code: "APPROVAL_NOT_FOUND" },
        });
      },
    }),
    ...pairingMethods(ports, hub),
  ];
}

function pairingMethods({ pairing }: Pick<ServerPorts, "pairing">, hub: Hub): readonly Method[] {
  return [
    defineMethod({
      name: "pairing.list",
      scope: "operator.pairing",
      params: z.looseObject({ channel: z.string().min(1).optional() }),
      run: async ({ channel }) => {
        const requests = await pairing.list();
        return { requests: requests.filter((request) => channel === undefined || request.channel === channel) };
      },
    }),
    defineMethod({
      name: "pairing.approve",
      scope: "operator.pairing",
      params: z.looseObject({ channel: z.string().min(1), code: z.string().min(1).max(64) }),
      run: async ({ channel, code }) => {
        const request = await pairing.approve(channel, code.trim().toUpperCase());
        if (request === undefined) {
          throw new MethodError("NOT_FOUND", `no waiting pairing request has this code on ${channel}`);
        }
        const { account, senderId } = request;
        const payload = { channel, account, senderId, decision: "approved" };
        hub.publish({ event: "pairing.resolved", payload, scope: "operator.pairing" });
        return { ok: true, request };
      },
    }),
  ];
}
