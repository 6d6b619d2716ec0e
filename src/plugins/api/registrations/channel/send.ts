import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { SendOptions, SendResult } from "../../../../types/chat/channel.ts";
import type { MediaItem, Peer } from "../../../../types/chat/message.ts";
import type { OutboundFiles, OutboundPart } from "../../../../types/chat/reply.ts";
import { isFields } from "../../../../utils/fields.ts";
import { sendForOutbox } from "../../../outbox-send.ts";
import type { BridgeParts } from "./parts.ts";

interface Sending<Part = OutboundPart> {
  readonly to: Peer;
  readonly part: Part;
  readonly options: SendOptions;
}

/** Sends a part by `outbound.sendText` or `outbound.sendMedia`. Never rejects. */
export async function sendPart(parts: BridgeParts, { part, ...more }: Sending): Promise<SendResult> {
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
