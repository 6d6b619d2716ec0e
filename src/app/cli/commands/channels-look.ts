import { z } from "zod";
import { capabilitiesOf, type Capabilities } from "../../channel-capabilities.ts";
import { hasGateway } from "../address.ts";
import { callOnce } from "../call-gateway.ts";
import { writeJson, type Io } from "../io.ts";
import { readState } from "../state.ts";
import { table } from "../table.ts";
import { messageSend, type SendFlags } from "./message.ts";

const shape = z.looseObject({
  channels: z.array(
    z.looseObject({
      channel: z.string(),
      label: z.string(),
      limits: z.looseObject({ text: z.number(), format: z.string(), media: z.number() }),
      login: z.boolean(),
      logout: z.boolean(),
      probe: z.boolean(),
      methods: z.array(z.string()).optional(),
    }),
  ),
});

/** What each channel can do; what its connection can is known to a running gateway alone. */
export async function channelsCapabilities(io: Io, flags: { json?: boolean; channel?: string }): Promise<number> {
  const state = await readState(io);
  const { channel } = flags;
  const params = channel === undefined ? {} : { channel };
  const { channels } = hasGateway(io, state)
    ? await callOnce(io, state, { method: "channels.capabilities", params, shape })
    : { channels: await capabilitiesOf(channel, () => undefined) };
  if (flags.json === true) writeJson(io, { channels });
  else io.out(table(io, ["CHANNEL", "FORMAT", "TEXT", "FILE", "LOGIN", "CAN"], channels.map(rowOf)));
  return 0;
}

type Row = Pick<Capabilities, "channel" | "login"> & {
  readonly methods?: readonly string[] | undefined;
  readonly limits: { readonly text: number; readonly format: string; readonly media: number };
};

const rowOf = ({ channel, limits, login, methods }: Row): readonly string[] => [
  channel,
  limits.format,
  String(limits.text),
  `${Math.round(limits.media / 1_048_576)} MB`,
  login ? "yes" : "no",
  methods?.join(" ") ?? "(not connected)",
];

/** Sends a test message and tells what became of it, as `messageSend` does. */
export async function channelsTest(
  io: Io,
  flags: Pick<SendFlags, "channel" | "to" | "account" | "json">,
): Promise<number> {
  const message = `A test message of openclaw, sent ${new Date().toISOString()}.`;
  return messageSend(io, { ...flags, message });
}
