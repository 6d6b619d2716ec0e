import { GatewayOpcodes } from "discord-api-types/v10";
import type { GatewayReceivePayload } from "discord-api-types/v10";
import { z } from "zod";

const id = z.string().min(1);
const snowflake = z.string().regex(/^\d{1,20}$/);
/** The library opens a socket where nobody catches the error of a wrong address. */
export const socketUrl = z.url({ protocol: /^wss?$/ });
const fields = z.looseObject({});
const frame = z.looseObject({ op: z.number() });
const dispatch = z.looseObject({ t: z.string(), s: z.number().int().nonnegative() });

/** The parts of a frame that the library reads, by opcode. docs.discord.com/developers/events/gateway-events */
const BY_OPCODE: Readonly<Record<number, z.ZodType>> = {
  [GatewayOpcodes.Dispatch]: dispatch,
  [GatewayOpcodes.InvalidSession]: z.looseObject({ d: z.boolean() }),
  // A longer interval than a timer can hold would be one of no time at all.
  [GatewayOpcodes.Hello]: z.looseObject({
    d: z.looseObject({
      heartbeat_interval: z
        .number()
        .min(1)
        .max(2 ** 31 - 1),
    }),
  }),
};

/**
 * The parts of an event's data that the library and the session read, by name; the data of every other event is an
 * object.
 */
const BY_EVENT: ReadonlyMap<unknown, z.ZodType> = new Map<string, z.ZodType>(
  Object.entries({
    READY: z.looseObject({
      session_id: id,
      resume_gateway_url: socketUrl,
      user: z.looseObject({ id, username: z.string() }),
      guilds: z.array(z.looseObject({ id })),
    }),
    // Only the event's name counts.
    RESUMED: z.unknown(),
    GUILD_CREATE: z.looseObject({ id }),
    INTERACTION_CREATE: z.looseObject({
      id: snowflake,
      token: z.string(),
      type: z.number(),
      application_id: id,
      data: z
        .looseObject({
          type: z.number().optional(),
          component_type: z.number().optional(),
          name: z.string().optional(),
          custom_id: z.string().optional(),
          options: z.array(fields).optional(),
        })
        .optional(),
      member: z.looseObject({ user: z.looseObject({ id }) }).optional(),
      channel: z.looseObject({ id, type: z.number() }).optional(),
      user: z.looseObject({ id }).optional(),
    }),
  }),
);

/**
 * A frame, or a description of one that must be skipped: a short text without anybody's words, and the number of the
 * event if it has one.
 */
export type Frame =
  | { readonly payload: GatewayReceivePayload }
  | { readonly unreadable: string; readonly sequence: number | undefined };

/**
 * Checks a frame that the library parsed; the library makes null of half a frame and of other text that is not JSON.
 */
export function checkFrame(value: unknown): Frame {
  if (isPayload(value)) return { payload: value };
  return { unreadable: describe(value), sequence: dispatch.safeParse(value).data?.s };
}

function isPayload(value: unknown): value is GatewayReceivePayload {
  const { success, data } = frame.safeParse(value);
  if (!success || BY_OPCODE[data.op]?.safeParse(value).success === false) return false;
  if (data.op !== GatewayOpcodes.Dispatch) return true;
  return (BY_EVENT.get(data["t"]) ?? fields).safeParse(data["d"]).success;
}

function describe(value: unknown): string {
  if (value === null) return "a frame that is not JSON";
  const { data } = frame.safeParse(value);
  if (!data) return "a frame without an opcode";
  const event = data["t"];
  return typeof event === "string" ? `the event ${event.slice(0, 60)}` : `a frame with opcode ${data.op}`;
}
