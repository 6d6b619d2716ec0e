import type { z } from "zod";
import { channelAccounts } from "../../../../channels/config.ts";
import { problemText } from "../../../../channels/connection/problem-text.ts";
import { channelAnswers, type ShownAccount } from "../../../../types/answers/channels.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { callOnce } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { readState, requireState, type State } from "../../state.ts";
import { table } from "../../table.ts";
import { showDuration } from "../../../../utils/time/duration.ts";

type Probed = z.output<typeof channelAnswers.probe>["accounts"];

export interface ChannelStatusFlags {
  readonly json?: boolean;
  readonly timeout?: number;
  readonly channel?: string;
  readonly probe?: boolean;
}

/**
 * How each account is connected; with `probe` each platform is asked. Throws GATEWAY_UNREACHABLE without a gateway, and
 * CHANNEL_MISSING if the named channel has no account there.
 */
export async function channelsStatus(io: Io, flags: ChannelStatusFlags): Promise<number> {
  const state = await readState(io);
  const { channel, timeout: timeoutMs } = flags;
  const params = channel === undefined ? {} : { channel };
  const call = { method: "channels.status", params, shape: channelAnswers.status };
  const status = await callOnce(io, state, call, { timeoutMs });
  if (channel !== undefined && !status.channelAccounts?.[channel]?.length) throw notOn({ channel });
  const probed = flags.probe === true ? await probe(io, state, flags) : undefined;
  if (flags.json === true) writeJson(io, { ...status, ...(probed && { probes: probed }) });
  else io.out(channelRows(io, status) + (probed ? `\n${probeRows(io, probed)}` : ""));
  return probed?.some(({ status }) => status === "fail") === true ? 1 : 0;
}

const PROBE_MS = 10_000;

async function probe(io: Io, state: State, { channel, timeout = PROBE_MS }: ChannelStatusFlags): Promise<Probed> {
  const params = { timeoutMs: Math.min(timeout, 60_000), ...(channel !== undefined && { channel }) };
  const call = { method: "channels.probe", params, shape: channelAnswers.probe };
  return (await callOnce(io, state, call, { timeoutMs: timeout + 5000 })).accounts;
}

function probeRows(io: Io, probed: Probed): string {
  const rows = probed.map((one) => [one.channel, one.accountId, one.status, one.message, one.fix ?? ""]);
  return table(io, ["CHANNEL", "ACCOUNT", "PLATFORM", "IT SAYS", "FIX"], rows);
}

/**
 * Shows whether each enabled account is connected, and the answer of its platform. Exit code 1 when one is not or one
 * refuses. Throws GATEWAY_UNREACHABLE without a gateway, and CHANNEL_MISSING if what is named is not on.
 */
export async function channelsTried(
  io: Io,
  flags: Pick<ChannelStatusFlags, "json" | "channel"> & { readonly account?: string },
): Promise<number> {
  const state = await readState(io);
  const { channel, account: only } = flags;
  const params = channel === undefined ? {} : { channel };
  const status = await callOnce(io, state, { method: "channels.status", params, shape: channelAnswers.status });
  const accounts = status.channelAccounts ?? {};
  const probed = await probe(io, state, flags);
  const rows = probed.flatMap((answer) => {
    const { accountId } = answer;
    const found = accounts[answer.channel]?.find((one) => one.accountId === accountId);
    if (!found || found.enabled === false || (only !== undefined && accountId !== only)) return [];
    const isWell = found.connected === true && answer.status !== "fail";
    return [{ ...answer, state: describe(found), ok: isWell }];
  });
  if (rows.length === 0 && (channel ?? only) !== undefined) throw notOn({ channel, account: only });
  if (flags.json === true) writeJson(io, { accounts: rows });
  else if (rows.length === 0) io.out("No channel is switched on.\n");
  else io.out(table(io, TRIED, rows.map(triedRow)));
  return rows.every(({ ok }) => ok) ? 0 : 1;
}

const notOn = (named: { readonly channel?: string | undefined; readonly account?: string | undefined }) =>
  new OpenClawError("CHANNEL_MISSING", {
    message: `No account ${[named.account, named.channel && `of ${named.channel}`].filter(Boolean).join(" ")} is on.`,
    fix: "List the accounts: openclaw channels list --all. Add one: openclaw channels add.",
  });

const TRIED = ["CHANNEL", "ACCOUNT", "STATE", "PLATFORM", "IT SAYS", "FIX"];
const triedRow = (one: Probed[number] & { readonly state: string }): readonly string[] => [
  one.channel,
  one.accountId,
  one.state,
  one.status,
  one.message,
  one.fix ?? "",
];

export function channelRows(io: Io, status: z.infer<typeof channelAnswers.status>): string {
  const rows = Object.entries(status.channelAccounts ?? {}).flatMap(([channel, accounts]) =>
    accounts.map((one) => [
      channel,
      one.accountId,
      describe(one),
      ago(one.silentMs),
      lastHeard(one),
      [problemText(one), unaskedNote(one), ...noticesOf(one)].filter(Boolean).join("; "),
    ]),
  );
  if (rows.length === 0) return "No channel is switched on.\n";
  return table(io, ["CHANNEL", "ACCOUNT", "STATE", "LAST SIGN", "LAST MESSAGE", "LAST ERROR"], rows);
}

/** Problems of an account that still works, each with its fix. */
const noticesOf = ({ notices = [] }: ShownAccount): readonly string[] =>
  notices.map(({ problem, fix }) => `${problem}. ${fix}`);

/** Undefined when the platform was asked for all messages of the latest outage. */
export function unaskedNote({ unasked }: ShownAccount): string | undefined {
  if (!unasked) return undefined;
  const [from, until] = [unasked.from, unasked.until].map((at) => new Date(at).toISOString().slice(0, 16));
  return `not asked for what came from ${from} to ${until} UTC`;
}

function describe(one: ShownAccount): string {
  if (one.enabled === false) return "off";
  if (one.retryAt != null) return `${one.lifecycle ?? "trouble"}, again in ${showDuration(one.retryAt - Date.now())}`;
  if (one.activity !== undefined) return one.activity;
  if (one.lifecycle !== undefined) return one.lifecycle;
  if (one.connected === true) return "connected";
  return one.running === true ? "connecting" : "stopped";
}

const lastHeard = ({ lastInboundAt }: ShownAccount): string =>
  lastInboundAt == null ? "" : `${showDuration(Date.now() - lastInboundAt)} ago`;

const ago = (ms: number | null | undefined): string => (ms == null ? "" : `${showDuration(ms)} ago`);

/** The accounts that the config names, whether or not a gateway runs; with `all` the other channels too. Throws the config's problem. */
export async function channelsList(io: Io, flags: { json?: boolean; all?: boolean }): Promise<number> {
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
  const others =
    flags.all === true
      ? io.contributions.channels.flatMap(({ id }) => (Object.hasOwn(config.channels, id) ? [] : [id]))
      : [];
  if (flags.json === true) writeJson(io, { channels: accounts, ...(flags.all === true && { notSetUp: others }) });
  else if (accounts.length + others.length === 0) io.out("The config names no channel.\n");
  else {
    const rows = accounts.map((one) => [
      one.channel,
      one.account,
      one.enabled ? "on" : "off",
      one.dmPolicy,
      one.groupPolicy,
    ]);
    const rest = others.map((id) => [id, "", "not set up", "", ""]);
    io.out(table(io, ["CHANNEL", "ACCOUNT", "STATE", "DIRECT", "GROUPS"], [...rows, ...rest]));
  }
  return 0;
}
