import { type Capabilities, channelAnswers } from "../../../../types/answers/channels.ts";
import { capabilitiesOf } from "../../../accounts/channel-capabilities.ts";
import { hasGateway } from "../../address.ts";
import { callOnce } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { readState } from "../../state.ts";
import { table } from "../../table.ts";
import { channelsTried } from "./channels.ts";
import { messageSend, type SendFlags } from "../message/message.ts";

/** Shows the capabilities of each account's channel. Only a running gateway knows those of its connection. */
export async function channelsCapabilities(io: Io, flags: { json?: boolean; channel?: string }): Promise<number> {
  const state = await readState(io);
  const { channel } = flags;
  const params = channel === undefined ? {} : { channel };
  const { channels } = hasGateway(io, state)
    ? await callOnce(io, state, { method: "channels.capabilities", params, shape: channelAnswers.capabilities })
    : { channels: await capabilitiesOf(state, channel, () => undefined) };
  if (flags.json === true) writeJson(io, { channels });
  else io.out(table(io, COLUMNS, channels.map(rowOf)));
  return 0;
}

const COLUMNS = ["CHANNEL", "ACCOUNT", "FORMAT", "TEXT", "FILE", "CAPTION", "ALBUM", "SILENT", "LOGIN", "CAN"];

const rowOf = ({ channel, accountId, limits, silent, login, methods }: Capabilities): readonly string[] => [
  channel,
  accountId ?? "(not set up)",
  limits.format,
  String(limits.text),
  `${Math.round(limits.media / 1_048_576)} MB`,
  String(limits.caption ?? "none"),
  String(limits.album ?? 1),
  silent ? "yes" : "no",
  login ? "yes" : "no",
  methods?.join(" ") ?? "(not connected)",
];

/**
 * Sends a test message and prints the result, as `messageSend` does. Without a chat it tests every account, as
 * `channelsTried` does.
 */
export async function channelsTest(
  io: Io,
  flags: Pick<SendFlags, "channel" | "to" | "account" | "json">,
): Promise<number> {
  if (flags.to === undefined) return channelsTried(io, flags);
  const message = `A test message of openclaw, sent ${new Date().toISOString()}.`;
  return messageSend(io, { ...flags, message });
}
