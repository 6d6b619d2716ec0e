import type { z } from "zod";
import type { ChannelHost } from "../types/chat/channel.ts";

/**
 * Reads a note that this adapter wrote; undefined when there is none. A note that cannot be parsed is logged, kept as
 * `<name>.broken` and ignored, so that the adapter keeps receiving messages. Rejects when notes cannot be read or written at all.
 */
export async function readOwnNote<T>(host: ChannelHost, name: string, shape: z.ZodType<T>): Promise<T | undefined> {
  const text = await host.notes.get(name);
  if (text === undefined) return undefined;
  try {
    return shape.parse(JSON.parse(text));
  } catch (error) {
    host.log.warn("a note of the adapter cannot be parsed and is ignored", { name, error: String(error) });
    await host.notes.set(`${name}.broken`, text);
    return undefined;
  }
}
