import { background } from "openclaw/plugin-sdk";
import type { InboundMessage } from "openclaw/plugin-sdk";
import { readRef, recipientOf } from "../people.ts";
import type { Account } from "../account.ts";
import { whyNot } from "../rpc.ts";

/** Marks messages as read, without waiting: a lost receipt does no harm. */
export function confirmRead({ daemon, host }: Account, messages: readonly InboundMessage[]): void {
  const said = messages.filter(({ event }) => event !== "reaction" && event !== "news");
  for (const [sender, theirs] of Map.groupBy(said, (message) => message.sender.id)) {
    const targetTimestamp = theirs.map(({ sentAt, id }) => sentAt ?? readRef(id)?.timestamp);
    const params = { recipient: recipientOf(sender), targetTimestamp, type: "read" };
    const sent = daemon.call("sendReceipt", params).then((answer) => {
      if (answer.kind !== "done") host.log.info("a read receipt was not sent", { reason: whyNot(answer) });
    });
    background("read receipt", sent);
  }
}
