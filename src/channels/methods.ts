import { z } from "zod";
import { channelAnswers } from "../types/answers/channels.ts";
import { defineMethod, type Method } from "../types/method.ts";
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
      result: channelAnswers.status,
      run: async ({ channel }) =>
        channelsStatus(
          status().filter((row) => channel === undefined || row.channel === channel),
          defaultOf,
        ),
    }),
  ];
}

function channelsStatus(rows: readonly ChannelStatus[], defaultOf: ((channel: string) => string) | undefined) {
  const byChannel = [...Map.groupBy(rows, (row) => row.channel)];
  const each = <T>(value: (rows: readonly ChannelStatus[], channel: string) => T): Record<string, T> =>
    Object.fromEntries(byChannel.map(([channel, own]) => [channel, value(own, channel)]));
  return {
    ts: Date.now(),
    channelOrder: byChannel.map(([channel]) => channel),
    channelLabels: each((own, channel) => own[0]?.label ?? channel),
    channelDetailLabels: each((own, channel) => own[0]?.label ?? channel),
    channelSystemImages: {},
    channelMeta: byChannel.map(([id, [row]]) => ({ id, label: row?.label ?? id, detailLabel: row?.label ?? id })),
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
