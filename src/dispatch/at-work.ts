import type { InboundMessage } from "../types/message.ts";
import type { DispatchPorts } from "./ports.ts";

/** A quick answer shows no "typing…". */
const TYPING_AFTER_MS = 250;
/** Telegram shows it for five seconds. */
const TYPING_EVERY_MS = 4000;

type AtWorkPorts = Pick<DispatchPorts, "link" | "clock" | "settings" | "log">;

/** Shows the chat that its message is being worked on: a reaction at once, "typing…" as long as it takes. Gives the end of it. */
export function showAtWork(message: InboundMessage, ports: AtWorkPorts): () => void {
  if (message.options?.operator === true) return () => undefined;
  const stopTyping = keepTyping(message, ports);
  const removeReaction = react(message, ports);
  return () => {
    stopTyping();
    removeReaction();
  };
}

function keepTyping({ from }: InboundMessage, ports: AtWorkPorts): () => void {
  let cancel: () => void = () => undefined;
  const show = () => {
    quietly(ports.link(from)?.typing?.(from), ports);
    cancel = ports.clock.after(TYPING_EVERY_MS, show);
  };
  cancel = ports.clock.after(TYPING_AFTER_MS, show);
  return () => cancel();
}

function react(message: InboundMessage, ports: AtWorkPorts): () => void {
  const ack = ports.settings().reaction(message);
  if (ack === undefined) return () => undefined;
  const set = async (emoji: string | undefined) => {
    const result = await ports.link(message.from)?.react?.(message.from, message.id, emoji);
    if (result?.kind === "refused")
      ports.log.warn("reaction refused", { channel: message.from.channel, why: result.reason });
  };
  quietly(set(ack.emoji), ports);
  return () => {
    if (ack.removeAfter) quietly(set(undefined), ports);
  };
}

/** Adapters promise not to throw; one that does must not take the gateway down over a sign of life. */
function quietly(call: Promise<void> | undefined, { log }: AtWorkPorts): void {
  call?.catch((error: unknown) => log.warn("sign of work not shown", { error }));
}
