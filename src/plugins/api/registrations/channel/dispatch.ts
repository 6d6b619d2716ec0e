import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { mediaKindOf } from "../../../../types/chat/media-kind.ts";
import type { InboundMessage, MediaItem } from "../../../../types/chat/message.ts";
import { backoff } from "../../../../utils/backoff.ts";
import type { Fields } from "../../../../utils/fields.ts";
import { pause } from "../../../../utils/pause.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import type { CommandTarget } from "../../../ports.ts";
import type { PluginScope } from "../../scope.ts";
import type { ConnectedAccount } from "./accounts.ts";
import type { TypingCallbacks } from "./dispatcher.ts";
import { followMessage } from "./follow-reply.ts";
import { filesIn, firstText, messageOf, type NamedFile } from "./inbound.ts";

interface DispatchOptions {
  readonly typing?: TypingCallbacks | undefined;
  /** With the callbacks that follow the run. */
  readonly replyOptions?: Fields | undefined;
}

/**
 * Passes a message of the field's form to the gateway. Resolves when it is durable. Many plugins have acknowledged it by
 * then, so a message that cannot be stored is tried again until the account stops; only then it rejects.
 */
export async function dispatchInbound(
  scope: PluginScope,
  context: Fields,
  { typing, replyOptions = {} }: DispatchOptions,
): Promise<void> {
  const channel = firstText(context, ["OriginatingChannel", "Provider", "Surface"]);
  const account = scope.accounts.find(channel, firstText(context, ["AccountId"]));
  const options = targetOf(scope, context, account.channel);
  const message = { ...messageOf(context, account, scope.ports.clock.now()), ...(options && { options }) };
  const media = await Promise.all(filesIn(context).map((file) => itemOf(scope, file)));
  // The turn may begin before the message is reported as durable.
  if (typing) {
    account.typing.set(message.from.chat.id, typing);
    account.showTyping();
  }
  const stored = store(scope, account, { ...message, media: media.filter((item) => item !== undefined) });
  followMessage(scope, { account, eventKey: message.eventKey, stored }, replyOptions);
  await stored;
}

/** A command of a button or menu names the conversation that it is for; its own chat need not exist. */
function targetOf(scope: PluginScope, context: Fields, channel: string): CommandTarget | undefined {
  const target = context["CommandSource"] === "native" ? firstText(context, ["CommandTargetSessionKey"]) : undefined;
  return target === undefined ? undefined : scope.ports.channels.commandTarget(channel, target);
}

async function store(scope: PluginScope, { host }: ConnectedAccount, message: InboundMessage): Promise<void> {
  const signal = AbortSignal.any([host.signal, scope.signal]);
  for (let failures = 0; ; failures++) {
    try {
      return await scope.outside(() => host.receive([message]));
    } catch (error) {
      if (signal.aborted) throw error;
      const retryInMs = backoff(failures);
      host.report({ kind: "trouble", reason: errorText(error), retryInMs });
      await pause(retryInMs, { clock: scope.ports.clock, signal });
      if (signal.aborted) throw error;
    }
  }
}

/** A file of this machine goes into the media store, since the plugin may remove it; an address is fetched with the turn. */
async function itemOf(scope: PluginScope, { path, url, mime }: NamedFile): Promise<MediaItem | undefined> {
  const local = path ?? (url !== undefined && !/^https?:/.test(url) ? url : undefined);
  if (local === undefined) return { kind: mediaKindOf(mime ?? ""), source: { at: "platform", ref: url ?? "" } };
  try {
    const file = local.startsWith("file:") ? fileURLToPath(local) : local;
    const facts = { name: basename(file), ...(mime !== undefined && { mime }) };
    const kept = await scope.ports.channels.saveMedia(await readFile(file), facts);
    return {
      kind: mediaKindOf(kept.mime),
      mime: kept.mime,
      bytes: kept.bytes,
      name: facts.name,
      source: { at: "store", id: kept.id },
    };
  } catch (error) {
    scope.log.warn("file of a message cannot be read", { file: local, error });
    return undefined;
  }
}
