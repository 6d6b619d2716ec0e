import { background } from "openclaw/plugin-sdk";
import type { ChannelHost, ChannelLink } from "openclaw/plugin-sdk";
import { Account } from "./account.ts";
import { commandForm } from "./command-form.ts";
import type { SlackConfig } from "./config.ts";
import { authError, reasonOf } from "./failures.ts";
import { find } from "./find.ts";
import { grow } from "./grow.ts";
import { download } from "./media.ts";
import { missedSince } from "./missed.ts";
import { receive } from "./receive.ts";
import { changes, sendText } from "./send.ts";
import { sendFiles } from "./upload.ts";

/** Begins to receive. Throws `OpenClawError` when a token is missing or Slack does not know it. */
export async function connect(config: SlackConfig, host: ChannelHost): Promise<ChannelLink> {
  const account = new Account(config, host);
  await firstContact(account);
  const end = new AbortController();
  const ended = receive(account, AbortSignal.any([host.signal, end.signal]));
  return {
    async send(to, part, options) {
      const send = part.kind === "text" ? sendText(account, to, part, options) : sendFiles(account, to, part, options);
      const result = await send;
      if (result.kind === "sent") background("end of typing", account.typing.answered(to));
      return result;
    },
    ...changes(account),
    grow: (to, options) => grow(account, to, options),
    typing: (to) => account.typing.show(to),
    find: (to, part, options) => find(account, to, part, options),
    download: (item) => download(account, item),
    commandForm: (to) => commandForm(config, to, account.self()?.name),
    missedSince: async (since) => missedSince(account, await account.ready(), since),
    async close() {
      end.abort();
      await ended();
    },
  };
}

/** Slack that cannot be asked now is asked again before each connection. */
async function firstContact(account: Account): Promise<void> {
  try {
    await account.ready();
  } catch (error) {
    const refused = authError(error);
    if (refused) throw refused;
    account.host.report({ kind: "trouble", reason: reasonOf(error) });
  }
}
