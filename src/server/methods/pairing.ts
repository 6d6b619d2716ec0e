import { z } from "zod";
import { type Paired, pairingAnswers } from "../../types/answers/pairing.ts";
import { defineMethod, MethodError, type Method } from "../../types/method.ts";
import type { ServerPorts } from "../options.ts";
import type { Hub } from "../transport/hub.ts";

/** Methods for strangers who wait to be let in. */
export function pairingCodeMethods({ pairing }: Pick<ServerPorts, "pairing">, hub: Hub): readonly Method[] {
  return [
    defineMethod({
      name: "pairing.list",
      scope: "operator.pairing",
      params: z.looseObject({ channel: z.string().min(1).optional() }),
      result: pairingAnswers.list,
      run: async ({ channel }) => {
        const isWanted = (row: { readonly channel: string }) => channel === undefined || row.channel === channel;
        const [requests, turnedAway, admitted] = await Promise.all([
          pairing.list(),
          pairing.turnedAway(),
          pairing.admitted(),
        ]);
        return {
          requests: requests.filter(isWanted),
          turnedAway: turnedAway.filter(isWanted),
          admitted: admitted.filter(isWanted),
        };
      },
    }),
    defineMethod({
      name: "pairing.approve",
      scope: "operator.pairing",
      params: approveParams,
      result: pairingAnswers.approve,
      run: async (params) => approve(params, pairing, hub),
    }),
    defineMethod({
      name: "pairing.reject",
      scope: "operator.pairing",
      params: approveParams.omit({ notify: true }),
      result: pairingAnswers.reject,
      run: async ({ channel, code, accountId }) => {
        const request = await pairing.reject(channel, code, accountId);
        if (!request) throw unknownRequest(channel);
        tell(hub, request, "rejected");
        return { ok: true, request };
      },
    }),
    defineMethod({
      name: "pairing.revoke",
      scope: "operator.pairing",
      params: z.looseObject({
        channel: z.string().min(1),
        senderId: z.string().min(1).max(256),
        accountId: z.string().min(1).optional(),
      }),
      result: pairingAnswers.revoke,
      run: async ({ channel, senderId, accountId }) => {
        const revoked = await pairing.revoke(channel, senderId, accountId);
        if (revoked.length === 0) throw new MethodError("NOT_FOUND", `${senderId} was not let in on ${channel}`);
        for (const person of revoked) tell(hub, person, "revoked");
        return { ok: true, revoked };
      },
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
  if (request === undefined) throw unknownRequest(channel);
  tell(hub, request, "approved");
  const notified = notify === true ? { notified: await pairing.notify(request) } : {};
  return { ok: true, request, ...notified };
}

const unknownRequest = (channel: string): MethodError =>
  new MethodError(
    "NOT_FOUND",
    `no request on ${channel} has this code or id, or several accounts have one with the id`,
  );

function tell(hub: Hub, { channel, account, senderId }: Paired, decision: "approved" | "rejected" | "revoked"): void {
  const payload = { channel, account, senderId, decision };
  hub.publish({ event: "pairing.resolved", payload, scope: "operator.pairing" });
}
