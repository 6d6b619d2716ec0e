import { GatewayOpcodes } from "discord-api-types/v10";
import type { GatewayReceivePayload } from "discord-api-types/v10";
import { z } from "zod";

const id = z.string().min(1);
const fields = z.looseObject({});
const frame = z.looseObject({ op: z.number() });
const dispatch = z.looseObject({ t: z.string(), s: z.number().int().nonnegative() });

/** What the connection itself reads of a frame, by opcode. docs.discord.com/developers/events/gateway-events */
const BY_OPCODE: Readonly<Record<number, z.ZodType>> = {
  [GatewayOpcodes.Dispatch]: dispatch,
  [GatewayOpcodes.Hello]: z.looseObject({ d: z.looseObject({ heartbeat_interval: z.number().positive() }) }),
};

/** What the session itself reads of an event's data, by name; of every other event it is an object. */
const BY_EVENT: Readonly<Record<string, z.ZodType>> = {
  READY: z.looseObject({
    session_id: id,
    resume_gateway_url: id,
    user: z.looseObject({ id, username: z.string() }),
    guilds: z.array(z.looseObject({ id })),
  }),
  // Only its name counts.
  RESUMED: z.unknown(),
  GUILD_CREATE: z.looseObject({ id }),
  INTERACTION_CREATE: z.looseObject({ id, token: z.string(), type: z.number(), application_id: id }),
};

/** Why a frame is left out: a short text without anything that somebody said. */
export type Frame = { readonly payload: GatewayReceivePayload } | { readonly odd: string };

export function readFrame(text: string): Frame {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Half a frame: its event is missing from the sequence and comes again with the next RESUME.
    return { odd: `${text.length} characters that are no JSON` };
  }
  return isPayload(value) ? { payload: value } : { odd: nameOf(value) };
}

/** Holds what this package reads without a further look. */
function isPayload(value: unknown): value is GatewayReceivePayload {
  const { success, data } = frame.safeParse(value);
  if (!success || BY_OPCODE[data.op]?.safeParse(value).success === false) return false;
  if (data.op !== GatewayOpcodes.Dispatch) return true;
  return (BY_EVENT[String(data["t"])] ?? fields).safeParse(data["d"]).success;
}

function nameOf(value: unknown): string {
  const { data } = frame.safeParse(value);
  if (!data) return "a frame without an opcode";
  const event = data["t"];
  return typeof event === "string" ? `the event ${event.slice(0, 60)}` : `a frame with opcode ${data.op}`;
}
