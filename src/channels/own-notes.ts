import type { z } from "zod";
import type { ChannelHost } from "../types/chat/channel.ts";

/**
 * A note of this adapter's own, or undefined when there is none. One that cannot be understood is told, kept as
 * `<name>.broken` and counts as none: the adapter keeps receiving messages. Rejects when the notes cannot be read or written at all.
 */
export async function readOwnNote<T>(host: ChannelHost, name: string, shape: z.ZodType<T>): Promise<T | undefined> {
  const text = await host.notes.get(name);
  if (text === undefined) return undefined;
  try {
    return shape.parse(JSON.parse(text));
  } catch (error) {
    host.log.warn("a note of the adapter's own cannot be understood and is begun anew", { name, error: String(error) });
    await host.notes.set(`${name}.broken`, text);
    return undefined;
  }
}
