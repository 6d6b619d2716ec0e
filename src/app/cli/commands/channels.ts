import { z } from "zod";
import { channelAccounts } from "../../../channels/config.ts";
import { callOnce } from "../call-gateway.ts";
import { writeJson, type Io } from "../io.ts";
import { readState, requireState } from "../state.ts";
import { showDuration, table } from "../table.ts";

const account = z.looseObject({
  accountId: z.string(),
  enabled: z.boolean().optional(),
  running: z.boolean().optional(),
  connected: z.boolean().optional(),
  lifecycle: z.string().optional(),
  lastInboundAt: z.number().nullish(),
  lastError: z.string().nullish(),
});

export const channelsShape = z.looseObject({
  channelOrder: z.array(z.string()).optional(),
  channelAccounts: z.record(z.string(), z.array(account)).optional(),
});

interface Flags {
  readonly json?: boolean;
  readonly timeout?: number;
}

/** How each account is connected. Throws GATEWAY_UNREACHABLE without a gateway. */
export async function channelsStatus(io: Io, flags: Flags): Promise<number> {
  const state = await readState(io);
  const call = { method: "channels.status", shape: channelsShape };
  const told = await callOnce(io, state, call, { timeoutMs: flags.timeout });
  if (flags.json === true) writeJson(io, told);
  else io.out(channelRows(io, told));
  return 0;
}

export function channelRows(io: Io, told: z.infer<typeof channelsShape>): string {
  const rows = Object.entries(told.channelAccounts ?? {}).flatMap(([channel, accounts]) =>
    accounts.map((one) => [channel, one.accountId, describe(one), lastHeard(one), one.lastError ?? ""]),
  );
  if (rows.length === 0) return "No channel is switched on.\n";
  return table(io, ["CHANNEL", "ACCOUNT", "STATE", "LAST MESSAGE", "LAST ERROR"], rows);
}

function describe(one: z.infer<typeof account>): string {
  if (one.enabled === false) return "off";
  if (one.lifecycle !== undefined) return one.lifecycle;
  if (one.connected === true) return "connected";
  return one.running === true ? "connecting" : "stopped";
}

const lastHeard = ({ lastInboundAt }: z.infer<typeof account>): string =>
  lastInboundAt == null ? "" : `${showDuration(Date.now() - lastInboundAt)} ago`;

/** The accounts that the config names, whether or not a gateway runs. Throws the config's problem. */
export async function channelsList(io: Io, flags: Flags): Promise<number> {
  const { config } = await requireState(io);
  const accounts = Object.entries(config.channels).flatMap(([channel, section]) =>
    channelAccounts(section).map(({ id, config: own }) => ({
      channel,
      account: id,
      enabled: section.enabled && own.enabled,
      dmPolicy: own.dmPolicy,
      groupPolicy: own.groupPolicy,
    })),
  );
  if (flags.json === true) writeJson(io, { channels: accounts });
  else if (accounts.length === 0) io.out("The config names no channel.\n");
  else {
    const rows = accounts.map((one) => [
      one.channel,
      one.account,
      one.enabled ? "on" : "off",
      one.dmPolicy,
      one.groupPolicy,
    ]);
    io.out(table(io, ["CHANNEL", "ACCOUNT", "STATE", "DIRECT", "GROUPS"], rows));
  }
  return 0;
}
