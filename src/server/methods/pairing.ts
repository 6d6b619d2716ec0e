import { z } from "zod";
import { pairingAnswers } from "../../types/answers/pairing.ts";
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
