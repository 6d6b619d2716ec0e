import type { Peer } from "../../types/chat/message.ts";
import type { ChatActs, ChatScene } from "../../types/chat/send.ts";
import type { MessageToolSettings } from "../../types/settings.ts";
import { givenText, type Input } from "./fields.ts";
import { targetName } from "./message-result.ts";

export interface MessageToolOptions {
  readonly scene: ChatScene;
  readonly acts: ChatActs;
  readonly settings: MessageToolSettings;
}

/** The chat of a call. Throws an error with a text for the model when the chat is ambiguous. */
export function chosenChat(
  { to, target, channel, accountId, threadId }: Input,
  { scene, acts }: MessageToolOptions,
): Peer {
  const named = { to: givenText(to ?? target), channel: givenText(channel), accountId: givenText(accountId) };
  return acts.find({ ...named, threadId: givenText(threadId) }, scene.peer);
}

export const isHome = (to: Peer, home: Peer | undefined): boolean =>
  home !== undefined && to.channel === home.channel && to.account === home.account && to.chat.id === home.chat.id;

/** Whether the turn may write to a chat: to its own always, to others for an owner or if the operator allows it. */
export function mayReach(to: Peer, { scene, settings }: MessageToolOptions): boolean {
  if (isHome(to, scene.peer) || scene.isOwner) return true;
  const { allowTargets, crossContext } = settings;
  const names = [to.chat.id, `${to.channel}:${to.chat.id}`, `${to.channel}:*`, "*"];
  if (names.some((name) => allowTargets.includes(name))) return true;
  return to.channel === scene.peer?.channel ? crossContext.allowWithinProvider : crossContext.allowAcrossProviders;
}

export const refusalFor = (to: Peer, home: Peer | undefined): string =>
  `This conversation may write to its own chat only (${home ? targetName(home) : "it has none"}), not to ${targetName(to)}. An owner may ask for it, or ` +
  "the operator allows it with tools.message.allowTargets or tools.message.crossContext.";
