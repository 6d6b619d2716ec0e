import type { Notified, Paired } from "../../../types/answers/pairing.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { blocksOf, deliverAndWait, targetPeer } from "../../outgoing.ts";
import type { Parts } from "../parts/parts.ts";

/** Most milliseconds that the operator waits for the platform; after that the message stays in the outbox. */
const WAIT_MS = 5000;
const PAIRED_TEXT = "The operator has let you in. You can write to me now.";

/** Informs a stranger whose pairing was approved. Never rejects. */
export async function notifyPaired(paired: Paired, parts: Parts): Promise<Notified> {
  const { channel, account, senderId } = paired;
  try {
    const outgoing = { to: senderId, channel, accountId: account, message: PAIRED_TEXT, media: [], files: [] };
    const to = targetPeer(outgoing, parts);
    const blocks = await blocksOf({ ...outgoing, guestOf: [] }, to, parts);
    // A stranger who is approved twice at once is informed once.
    const replyKey = `paired:${channel}:${account}:${senderId}:${paired.code ?? Math.floor(parts.core.ports.clock.now() / 60_000)}`;
    const rows = await deliverAndWait({ replyKey, to, blocks }, WAIT_MS, parts);
    const failed = rows.find((row) => row.state === "failed");
    if (failed) return { state: "failed", reason: failed.error ?? "the platform did not take the message" };
    return { state: rows.every((row) => row.state === "sent") ? "sent" : "queued" };
  } catch (error) {
    return { state: "failed", reason: errorText(error) };
  }
}
