import type { InboxRow } from "../types/journal.ts";
import type { Peer } from "../types/message.ts";
import type { DispatchPorts } from "./ports.ts";

/** A quick answer shows no "typing…". */
const TYPING_AFTER_MS = 250;
/** Telegram shows it for five seconds. */
const TYPING_EVERY_MS = 4000;

type AtWorkPorts = Pick<DispatchPorts, "link" | "clock" | "log">;

/** Shows "typing…" in the chat of a turn until the function that it gives is called. Never throws. */
export function showAtWork(rows: readonly InboxRow[], ports: AtWorkPorts): () => void {
  const message = rows[0]?.message;
  if (!message || message.options?.operator === true) return () => undefined;
  let cancel: () => void = () => undefined;
  const show = () => {
    cancel = ports.clock.after(TYPING_EVERY_MS, show);
    void type(message.from, ports);
  };
  cancel = ports.clock.after(TYPING_AFTER_MS, show);
  return () => cancel();
}

/** Adapters promise not to throw; one that does must not take the gateway down over a sign of life. */
async function type(to: Peer, { link, log }: AtWorkPorts): Promise<void> {
  try {
    await link(to)?.typing?.(to);
  } catch (error) {
    log.warn("sign of work not shown", { error });
  }
}
