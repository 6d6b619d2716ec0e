import type { ChannelLink } from "openclaw/plugin-sdk";
import type { Account } from "../account.ts";
import { actions } from "./actions.ts";
import { envelope } from "./envelope.ts";
import { changes, sendText } from "./send.ts";
import { Uploads } from "./upload.ts";

type Outgoing = Required<Pick<ChannelLink, "send" | "edit" | "remove" | "react" | "typing" | "actions">>;

/** Everything that a link does in chats. */
export function outgoing(account: Account): Outgoing {
  const uploads = new Uploads(account);
  return {
    async send(to, part, options) {
      const where = envelope(account, to, options);
      return part.kind === "text" ? sendText(account, where, part) : uploads.send(where, part, options.idempotencyKey);
    },
    ...changes(account),
    actions: actions(account),
  };
}
