import { background, type ChannelHost, type ChannelLink, type CommandForm, type Peer } from "openclaw/plugin-sdk";
import { Account, contextOf } from "./account.ts";
import { actions } from "./outbound/actions.ts";
import type { SlackConfig } from "./config.ts";
import { authError, reasonOf } from "./transport/failures.ts";
import { find } from "./outbound/find.ts";
import { startNativeStream } from "./native-stream.ts";
import { download } from "./inbound/media.ts";
import { missedSince } from "./missed.ts";
import { receive } from "./receive.ts";
import { messageChanges, sendText } from "./outbound/send.ts";
import { sendFiles } from "./outbound/upload.ts";

/** Connects an account. Throws `OpenClawError` when a token is missing or Slack refuses it. */
export async function connect(config: SlackConfig, host: ChannelHost): Promise<ChannelLink> {
  const account = new Account(config, host);
  await tryReady(account);
  const end = new AbortController();
  const ended = receive(account, AbortSignal.any([host.signal, end.signal]));
  return {
    async send(to, part, options) {
      const send = part.kind === "text" ? sendText(account, to, part, options) : sendFiles(account, to, part, options);
      const result = await send;
      if (result.kind === "sent") background("end of typing", account.typing.clear(to, options.answers));
      return result;
    },
    ...messageChanges(account),
    actions: actions(account),
    chatId: (to) => account.channelIds.of(to),
    stream: (to, options) => startNativeStream(account, to, options),
    typing: (to, messageId) => account.typing.show(to, messageId),
    endTyping: (to) => account.typing.end(to),
    find: (to, part, options) => find(account, to, part, options),
    download: (item) => download(account, item),
    commandForm: (to) => commandForm(config, to, account.self()?.name),
    missedSince: async (since) => {
      const reading = await account.ready();
      return missedSince(account, () => contextOf(reading), since);
    },
    async close() {
      end.abort();
      await ended();
    },
  };
}

/** Requests the identity of the bot. If Slack cannot be reached, each connection tries again. */
async function tryReady(account: Account): Promise<void> {
  try {
    await account.ready();
  } catch (error) {
    const refused = authError(error);
    if (refused) throw refused;
    account.host.report({ kind: "trouble", reason: reasonOf(error) });
  }
}

/**
 * Slack's apps treat a message that begins with a slash as a slash command and do not send it; the app's own slash command
 * does not work in threads (docs.slack.dev/interactivity/implementing-slash-commands).
 */
function commandForm({ slashCommand }: SlackConfig, to: Peer, self: string | undefined): CommandForm {
  if (slashCommand.enabled && to.thread === undefined) return { prefix: `/${slashCommand.name} ` };
  if (to.chat.kind === "group") return { prefix: `@${self ?? "me"} /` };
  return { prefix: "/", note: "Slack does not send a message that begins with a slash: begin it with a space." };
}
