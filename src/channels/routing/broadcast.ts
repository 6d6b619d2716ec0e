import { z } from "zod";
import { about } from "../../utils/config.ts";
import { own } from "../../utils/own.ts";
import type { Routed } from "./bindings.ts";

/** `broadcast` */
export const broadcastConfig = z
  .object({
    strategy: z
      .enum(["parallel", "sequential"])
      .default("parallel")
      .meta(
        about(
          "Strategy",
          "`parallel`: all agents answer at once. `sequential`: each when the one before it has ended.",
        ),
      ),
  })
  .catchall(
    z
      .array(z.string().min(1))
      .meta(
        about(
          "Chat",
          "Ids of the agents that answer this chat, each in its own session: the id of a group or of a direct chat's sender, with or without its channel, such as `telegram:-100123`. They count before `bindings`.",
        ),
      ),
  );

type BroadcastConfig = z.output<typeof broadcastConfig>;

/** The agents that all answer a message, each once; none when the bindings decide. */
export function broadcastTo(config: BroadcastConfig, { from, sender }: Routed): readonly string[] {
  const { channel, chat } = from;
  const names = [chat.id, ...(chat.kind === "direct" ? [sender.id, sender.e164] : [])];
  for (const name of names)
    for (const key of name === undefined ? [] : [`${channel}:${name}`, name]) {
      const found = key === "strategy" ? undefined : own(config, key);
      if (Array.isArray(found)) return [...new Set(found)];
    }
  return [];
}
