import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { z } from "zod";
import type { ChannelAdapter, ChannelLink, SendOptions, SendResult } from "../../../../types/chat/channel.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { channelId } from "../../../../types/ids.ts";
import { revealSecrets } from "../../../../utils/secrets/reveal.ts";
import type { PluginScope } from "../../scope.ts";
import { textsIn } from "../../foreign.ts";
import type { TypingCallbacks } from "../../dispatcher.ts";
import { channelLoginOf } from "./login.ts";
import { startMonitor } from "./monitor.ts";
import type { BridgeParts } from "./parts.ts";
import type { BridgedChannel } from "./plugin-object.ts";
import { background } from "../../../../utils/background.ts";
import { BoundedMap } from "../../../../utils/bounded-map.ts";
import type { MediaItem, Peer } from "../../../../types/chat/message.ts";
import type { OutboundFiles, OutboundPart } from "../../../../types/chat/reply.ts";
import { isFields } from "../../../../utils/fields.ts";
import { sendForOutbox } from "../../../outbox-send.ts";

/** Bytes of one file. */
const MOST_BYTES = 100 * 1_048_576;
/** Chats whose typing indicator is remembered. */
const MOST_CHATS = 1000;

/** The adapter of a plugin's `ChannelPlugin` object: its monitor receives, its `outbound` sends. */
export function bridgedAdapter(scope: PluginScope, channel: BridgedChannel): ChannelAdapter {
  const login = channelLoginOf(scope, channel);
  return {
    id: channelId(channel.id),
    label: channel.label,
    limits: { text: channel.textLimit, format: "markdown", media: MOST_BYTES },
    // A wrong setting must not stop other channels: `connect` checks it.
    config: z.looseObject({}),
    accountIds: () => accountIdsOf(scope, channel),
    connect: (config, host) => connect({ scope, channel, host }, config),
    ...(login && { login }),
  };
}

/** None when the plugin cannot say. */
function accountIdsOf(scope: PluginScope, channel: BridgedChannel): readonly string[] {
  try {
    const ids = scope.call(`channel ${channel.id} accounts`, () => channel.listAccountIds(scope.shownConfig()));
    return textsIn({ ids }, "ids") ?? [];
  } catch (error) {
    scope.log.error("plugin failed", { call: `channel ${channel.id} accounts`, error });
    return [];
  }
}

async function connect(parts: BridgeParts, config: unknown): Promise<ChannelLink> {
  const { scope, channel, host } = parts;
  const checked = channel.schema.safeParse(revealSecrets(config));
  if (!checked.success) throw refused(channel, z.prettifyError(checked.error));
  const account = await resolveAccount(parts);
  const typing = new BoundedMap<string, TypingCallbacks>(MOST_CHATS);
  const link: ChannelLink = {
    async send(to, part, options) {
      const sent = await sendPart(parts, { to, part, options });
      background("end of typing", endTyping(scope, typing.get(to.chat.id), "onIdle"), scope.log);
      return sent;
    },
    // A message of the plugin names the addresses, which are not known before the message comes.
    download: (item) => host.fetch(item.source.at === "platform" ? item.source.ref : item.source.id),
    async close() {
      disconnect();
      await monitor.close();
    },
  };
  // The plugin gives its indicator with a message: until then the channel has none.
  const showTyping = () => {
    link.typing = async (to) => void (await typing.get(to.chat.id)?.onReplyStart());
    link.endTyping = (to) => endTyping(scope, typing.get(to.chat.id), "onIdle", "onCleanup");
  };
  const known = { channel: channel.id, account: host.account, host, typing, followed: new Set<string>(), showTyping };
  const disconnect = scope.accounts.add(known);
  const monitor = await startMonitor(parts, account).catch((error: unknown) => {
    disconnect();
    throw error;
  });
  return link;
}

/** Ends a plugin's typing indicator. An error of that must not make a message that was sent count as failed. */
async function endTyping(
  { log }: PluginScope,
  callbacks: TypingCallbacks | undefined,
  ...ends: readonly ("onIdle" | "onCleanup")[]
): Promise<void> {
  try {
    for (const end of ends) await callbacks?.[end]();
  } catch (error) {
    log.info("typing was not ended", { error });
  }
}

/** The plugin's own form of the account. Throws `CHANNEL_CONFIG` when it is not set up. */
async function resolveAccount({ scope, channel, host }: BridgeParts): Promise<unknown> {
  const config = scope.shownConfig();
  const account: unknown = await scope.call(`channel ${channel.id} account`, () =>
    channel.resolveAccount(config, host.account),
  );
  if (!channel.isConfigured || (await channel.isConfigured(account, config)) === true) return account;
  throw refused(channel, `The account ${host.account} of ${channel.label} is not set up.`);
}

const refused = ({ id }: BridgedChannel, message: string): OpenClawError =>
  new OpenClawError("CHANNEL_CONFIG", {
    message,
    fix: `Correct channels.${id}, or link the account: openclaw channels login --channel ${id}`,
  });

interface Sending<Part = OutboundPart> {
  readonly to: Peer;
  readonly part: Part;
  readonly options: SendOptions;
}

/** Sends a part by `outbound.sendText` or `outbound.sendMedia`. Never rejects. */
async function sendPart(parts: BridgeParts, { part, ...more }: Sending): Promise<SendResult> {
  const { label } = parts.channel;
  if (parts.scope.signal.aborted) return { kind: "retry", reason: `the plugin of ${label} is not loaded any more` };
  try {
    if (part.kind === "media") return await sendFiles(parts, { ...more, part });
    const { sendText } = parts.channel;
    if (!sendText) return { kind: "refused", reason: `${label} sends no text` };
    return await call(parts, more, (context) => sendText({ ...context, text: part.body }));
  } catch (error) {
    return parts.scope.ports.channels.failedSend(error, parts.channel);
  }
}

/** Plugins read a file from this machine: it is written to a private folder for as long as the call takes. */
async function sendFiles(parts: BridgeParts, { part, ...more }: Sending<OutboundFiles>): Promise<SendResult> {
  const { sendMedia, label } = parts.channel;
  if (!sendMedia) return { kind: "refused", reason: `${label} sends no files` };
  const dir = await mkdtemp(join(tmpdir(), "openclaw-outbound-"));
  try {
    const mediaUrl = await writeItem(parts, part.media, dir);
    return await call(parts, more, (context) =>
      sendMedia({
        ...context,
        text: part.caption?.body ?? "",
        mediaUrl,
        mediaLocalRoots: [dir],
        ...(part.asVoice === true && { audioAsVoice: true }),
      }),
    );
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function writeItem({ host }: BridgeParts, item: MediaItem, dir: string): Promise<string> {
  const path = join(dir, basename(item.name ?? (item.source.at === "store" ? item.source.id : "")) || "file");
  await writeFile(path, await host.openMedia(item), { mode: 0o600 });
  return path;
}

type Send = (context: object) => unknown;

async function call(
  { scope, channel, host }: BridgeParts,
  { to, options }: Pick<Sending, "to" | "options">,
  send: Send,
): Promise<SendResult> {
  const context = {
    cfg: scope.shownConfig(),
    to: to.chat.id,
    accountId: host.account,
    idempotencyKey: options.idempotencyKey,
    ...(options.replyTo !== undefined && { replyToId: options.replyTo }),
    ...(to.thread !== undefined && { threadId: to.thread }),
    ...(options.silent === true && { silent: true }),
  };
  const result: unknown = await scope.call(`channel ${channel.id} send`, () => sendForOutbox(() => send(context)));
  return { kind: "sent", messageId: idIn(result) };
}

/** Empty where the platform gives no id. */
function idIn(result: unknown): string {
  const id = isFields(result) ? result["messageId"] : undefined;
  return typeof id === "string" || typeof id === "number" ? String(id) : "";
}
