import { z } from "zod";
import { defineMethod } from "../types/method.ts";
import type { Method } from "../types/method.ts";
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
      run: async ({ channel }) =>
        channelsStatus(
          status().filter((row) => channel === undefined || row.channel === channel),
          defaultOf,
        ),
    }),
  ];
}

export interface ChannelsStatus {
  readonly ts: number;
  readonly channelOrder: readonly string[];
  readonly channelLabels: Readonly<Record<string, string>>;
  readonly channels: Readonly<Record<string, ChannelSummary>>;
  readonly channelAccounts: Readonly<Record<string, readonly Omit<ChannelStatus, "channel" | "label">[]>>;
  readonly channelDefaultAccountId: Readonly<Record<string, string>>;
}

/** A channel as a whole: a flag is true when it is true for any account. */
export interface ChannelSummary {
  readonly configured: boolean;
  readonly running: boolean;
  readonly connected: boolean;
  readonly lastError: string | null;
  /** The step that a person can take about `lastError`. */
  readonly fix: string | null;
}

function channelsStatus(
  rows: readonly ChannelStatus[],
  defaultOf: ((channel: string) => string) | undefined,
): ChannelsStatus {
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

function summary(rows: readonly ChannelStatus[]): ChannelSummary {
  const failed = rows.find((row) => row.lastError !== null);
  return {
    configured: rows.some((row) => row.configured),
    running: rows.some((row) => row.running),
    connected: rows.some((row) => row.connected),
    lastError: failed?.lastError ?? null,
    fix: failed?.fix ?? null,
  };
}
