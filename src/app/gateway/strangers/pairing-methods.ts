import { createHash } from "node:crypto";
import { z } from "zod";
import { defineMethod, MethodError, type Caller, type Method } from "../../../types/method.ts";
import type { PairingRequest } from "../../../types/answers/pairing.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { accountOf } from "../../accounts/accounts.ts";
import { writeConfigValues } from "../../config/edit/write.ts";
import { WEB_CHAT } from "../../contributions/extensions.ts";
import { loadOptionsFor } from "../../plugins/load-options.ts";
import { notifyPaired } from "./notify-paired.ts";
import { ownerMethods } from "./owner-methods.ts";
import type { Parts } from "../parts/parts.ts";

const name = z.string().min(1).max(256);
const oneRequest = z.looseObject({ channel: name, accountId: name, requestId: name });

const waiting = z.looseObject({
  channel: z.string(),
  channelLabel: z.string(),
  accountId: z.string(),
  notifySupported: z.boolean(),
});
const listed = z.looseObject({
  accounts: z.array(waiting),
  requests: z.array(
    waiting.extend({
      requestId: z.string(),
      senderId: z.string(),
      senderLabel: z.string(),
      metadata: z.looseObject({ name: z.string() }).optional(),
      /** ISO 8601. */
      createdAt: z.string(),
      lastSeenAt: z.string(),
      expiresAt: z.string(),
    }),
  ),
  limits: z.looseObject({ pendingPerAccount: z.number(), ttlMs: z.number() }),
  commandOwnerConfigured: z.boolean(),
});
const decided = z.looseObject({ requestId: z.string(), senderId: z.string() });
const approved = decided.extend({ notification: z.string(), commandOwnerBootstrap: z.string() });

/** The protocol's methods about strangers who wait at an account, by the id of their request, and those about owners. */
export const pairingMethods = (parts: Parts): readonly Method[] => [
  ...ownerMethods(parts),
  defineMethod({
    name: "channels.pairing.list",
    scope: "operator.pairing",
    params: z.looseObject({ channel: name.optional(), accountId: name.optional() }),
    result: listed,
    run: async (asked) => {
      const accounts = accountsOf(parts, asked);
      const requests = (await parts.core.journal.pairing.list()).flatMap((request) => {
        const account = accounts.find((one) => one.channel === request.channel && one.accountId === request.account);
        return account ? [shownRequest(request, account)] : [];
      });
      const commandOwnerConfigured = parts.live.config.commands.ownerAllowFrom.length > 0;
      return { accounts, requests, commandOwnerConfigured, limits: LIMITS };
    },
  }),
  defineMethod({
    name: "channels.pairing.approve",
    scope: "operator.pairing",
    params: oneRequest.extend({ notify: z.boolean().optional(), bootstrapCommandOwner: z.boolean().optional() }),
    mayWait: true,
    result: approved,
    run: async (asked, caller) => {
      const { channel, account, senderId, code } = await requestOf(parts, asked);
      const paired = await parts.core.journal.pairing.approve(channel, code, account);
      if (!paired) throw gone();
      tell(parts, paired, "approved");
      return {
        requestId: asked.requestId,
        senderId,
        notification: asked.notify === true ? NOTIFICATION[(await notifyPaired(paired, parts)).state] : "not-requested",
        commandOwnerBootstrap:
          asked.bootstrapCommandOwner === true
            ? await makeOwner(parts, `${channel}:${senderId}`, caller)
            : "not-requested",
      };
    },
  }),
  defineMethod({
    name: "channels.pairing.dismiss",
    scope: "operator.pairing",
    params: oneRequest,
    result: decided,
    run: async (asked) => {
      const request = await requestOf(parts, asked);
      if (!(await parts.core.journal.pairing.dismiss(request))) throw gone();
      tell(parts, request, "dismissed");
      return { requestId: asked.requestId, senderId: request.senderId };
    },
  }),
];

/** Strangers who wait at one account, and how long a code is valid. */
const LIMITS = { pendingPerAccount: 3, ttlMs: 60 * 60 * 1000 };

/** A message that waits for the platform is sent once the account is connected. */
const NOTIFICATION = { sent: "sent", queued: "sent", failed: "failed" } as const;

interface Asked {
  readonly channel?: string | undefined;
  readonly accountId?: string | undefined;
}

/** The accounts at which strangers get a code. */
function accountsOf({ channels, live }: Parts, { channel, accountId }: Asked) {
  const rows = channels.status().filter((row) => row.channel !== WEB_CHAT);
  if (channel !== undefined && !rows.some((row) => row.channel === channel))
    throw new MethodError("NOT_FOUND", `unknown pairing channel: ${channel}`);
  return rows.flatMap((row) => {
    const isWanted =
      (channel === undefined || row.channel === channel) && (accountId === undefined || row.accountId === accountId);
    const { dmPolicy } = accountOf(live.config, { channel: row.channel, account: row.accountId });
    if (!isWanted || !row.enabled || dmPolicy !== "pairing") return [];
    return [{ channel: row.channel, channelLabel: row.label, accountId: row.accountId, notifySupported: true }];
  });
}

type Account = ReturnType<typeof accountsOf>[number];

/** An id that tells nothing about the stranger, and is another for a later request. */
const idOf = ({ channel, account, senderId, createdAt }: PairingRequest): string =>
  createHash("sha256")
    .update(JSON.stringify([channel, account, senderId, createdAt]))
    .digest("hex")
    .slice(0, 32);

const iso = (ms: number): string => new Date(ms).toISOString();

const shownRequest = (request: PairingRequest, account: Account) => ({
  requestId: idOf(request),
  ...account,
  senderId: request.senderId,
  senderLabel: "id",
  ...(request.name !== undefined && { metadata: { name: request.name } }),
  createdAt: iso(request.createdAt),
  lastSeenAt: iso(request.createdAt),
  expiresAt: iso(request.expiresAt),
});

async function requestOf(parts: Parts, { channel, accountId, requestId }: z.output<typeof oneRequest>) {
  if (accountsOf(parts, { channel, accountId }).length === 0)
    throw new MethodError("INVALID_REQUEST", `channel account does not use DM pairing: ${channel}:${accountId}`);
  const requests = await parts.core.journal.pairing.list();
  const found = requests.find(
    (request) => request.channel === channel && request.account === accountId && idOf(request) === requestId,
  );
  if (!found) throw gone();
  return found;
}

const gone = () => new MethodError("NOT_FOUND", "pending DM access request no longer exists");

function tell({ events }: Parts, of: Pick<PairingRequest, "channel" | "account" | "senderId">, decision: string): void {
  const { channel, account, senderId } = of;
  const payload = { channel, account, senderId, decision };
  events.publish({ event: "pairing.resolved", payload, scope: "operator.pairing" });
}

/** Names the stranger as owner where there is none. Only an administrator may: an owner approves commands. */
async function makeOwner({ live, log }: Parts, owner: string, caller: Caller) {
  if (live.config.commands.ownerAllowFrom.length > 0) return "already-configured" as const;
  if (!caller.scopes.has("operator.admin")) return "unavailable" as const;
  try {
    const options = await loadOptionsFor(live.contributions, live.paths);
    await writeConfigValues(options, [{ path: ["commands", "ownerAllowFrom"], value: [owner] }]);
    return "configured" as const;
  } catch (error) {
    log.warn("no owner was written into the config", { error: errorText(error) });
    return "unavailable" as const;
  }
}
