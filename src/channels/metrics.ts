import type { MetricRow } from "../server/metrics.ts";
import type { ChannelStatus } from "./channels.ts";
import type { Lifecycle } from "./connection/account-state.ts";

const STATES: readonly Lifecycle[] = ["stopped", "starting", "running", "trouble", "dead"];

/** The state of each account, for `/metrics`. */
export function channelMetrics(accounts: readonly ChannelStatus[]): readonly MetricRow[] {
  const rows = (one: Pick<MetricRow, "name" | "help">, read: (row: ChannelStatus) => number | undefined) =>
    accounts.flatMap((row): readonly MetricRow[] => {
      const value = read(row);
      return value === undefined ? [] : [{ ...one, type: "gauge", value, labels: labelsOf(row) }];
    });
  const states = accounts.flatMap((row) =>
    STATES.map((state): MetricRow => ({
      name: "openclaw_channel_state",
      help: "1 for the state that the account is in, 0 for the others.",
      type: "gauge",
      value: row.lifecycle === state ? 1 : 0,
      labels: { ...labelsOf(row), state },
    })),
  );
  return [
    ...rows({ name: "openclaw_channel_connected", help: "1 while the account is connected." }, ({ connected }) =>
      connected ? 1 : 0,
    ),
    ...rows(
      {
        name: "openclaw_channel_silent_seconds",
        help: "Seconds since the account's last sign of its platform; none before the first.",
      },
      ({ silentMs }) => (silentMs === null ? undefined : Math.round(silentMs / 1000)),
    ),
    ...states,
  ];
}

const labelsOf = ({ channel, accountId }: ChannelStatus): Record<string, string> => ({ channel, account: accountId });
