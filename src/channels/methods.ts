import { z } from "zod";
import { type Answer, defineMethod, type Method } from "../types/method.ts";
import type { ChannelStatus } from "./channels.ts";

/** The protocol methods of this module. `defaultOf` names the account of a channel that sends when none is given. */
export function methods(
  status: () => readonly ChannelStatus[],
  defaultOf?: (channel: string) => string,
): readonly Method[] {
  return [
    defineMethod({
      name: "channels.status",
      scope: "operator.read",
      params: z.looseObject({ channel: z.string().optional() }),
      result: channelsAnswer,
      run: async ({ channel }) =>
        channelsStatus(
          status().filter((row) => channel === undefined || row.channel === channel),
          defaultOf,
        ),
    }),
  ];
}

/** An account, as clients see it. Times are epoch milliseconds; null means never. */
const account = z.looseObject({
  accountId: z.string(),
  enabled: z.boolean().optional(),
  running: z.boolean().optional(),
  connected: z.boolean().optional(),
  lifecycle: z.string().optional(),
  retryAt: z.number().nullish(),
  silentMs: z.number().nullish(),
  lastInboundAt: z.number().nullish(),
  activity: z.string().optional(),
  lastError: z.string().nullish(),
  fix: z.string().nullish(),
  notices: z.array(z.looseObject({ problem: z.string(), fix: z.string() })).optional(),
  unasked: z.looseObject({ from: z.number(), until: z.number() }).optional(),
});
export type ShownAccount = Answer<z.output<typeof account>>;

/** The answer of `channels.status`. */
export const channelsAnswer = z.looseObject({
  channelOrder: z.array(z.string()).optional(),
  channelAccounts: z.record(z.string(), z.array(account)).optional(),
});

function channelsStatus(rows: readonly ChannelStatus[], defaultOf: ((channel: string) => string) | undefined) {
  const byChannel = [...Map.groupBy(rows, (row) => row.channel)];
  const each = <T>(value: (rows: readonly ChannelStatus[], channel: string) => T): Record<string, T> =>
    Object.fromEntries(byChannel.map(([channel, own]) => [channel, value(own, channel)]));
  return {
    ts: Date.now(),
    channelOrder: byChannel.map(([channel]) => channel),
    channelLabels: each((own, channel) => own[0]?.label ?? channel),
    channels: each(summary),
    channelAccounts: each((own) => own.map(({ channel: _channel, label: _label, ...row }) => row)),
    channelDefaultAccountId: each((own, channel) => defaultOf?.(channel) ?? own[0]?.accountId ?? "default"),
  };
}

/** A channel as a whole: a flag is true when it is true for any account. */
function summary(rows: readonly ChannelStatus[]) {
  const failed = rows.find((row) => row.lastError !== null);
  return {
    configured: rows.some((row) => row.configured),
    running: rows.some((row) => row.running),
    connected: rows.some((row) => row.connected),
    lastError: failed?.lastError ?? null,
    fix: failed?.fix ?? null,
  };
}
