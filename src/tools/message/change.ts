import type { SendResult } from "../../types/chat/channel.ts";
import type { Peer } from "../../types/chat/message.ts";
import type { ChatActs, ChatScene } from "../../types/chat/send.ts";
import type { ToolResult } from "../../types/run/tool.ts";
import { errorResult, textResult } from "../define.ts";
import { givenText, type Input } from "./fields.ts";
import type { MessageToolSettings } from "../../types/settings.ts";
import { targetName } from "./message-result.ts";

interface Place {
  readonly to: Peer;
  readonly messageId: string;
}

/** Reacts to, edits or deletes a message. */
export async function changeMessage(input: Input, to: Peer, { acts, scene }: MessageToolOptions): Promise<ToolResult> {
  const current = isHome(to, scene.peer) && input.action === "react" ? scene.messageId : undefined;
  const messageId = givenText(input.messageId) ?? current;
  if (messageId === undefined) return errorResult("Say which message: give messageId.");
  const refused = await refusalOf(input.action, { to, messageId }, { acts, scene });
  if (refused !== undefined) return errorResult(refused);
  const message = { to, messageId };
  if (input.action === "delete") return changeResult(await acts.remove(to, messageId), `Deleted message ${messageId}.`);
  return input.action === "edit" ? edit(input, message, acts) : react(input, message, acts);
}

/**
 * Reason why a guest's turn may not change a message; undefined when it may. Guests may have the agent change only its
 * own messages, and react only in their own chat.
 */
async function refusalOf(
  action: Input["action"],
  { to, messageId }: Place,
  { acts, scene }: Pick<MessageToolOptions, "acts" | "scene">,
): Promise<string | undefined> {
  if (scene.isOwner) return undefined;
  if (action === "react")
    return isHome(to, scene.peer) ? undefined : "Only an owner's turn may react to messages of other chats.";
  if (await acts.isOwn(to, messageId)) return undefined;
  return `Message ${messageId} was not sent by the agent: only an owner's turn may ${action} it.`;
}

async function edit({ message = "" }: Input, { to, messageId }: Place, acts: ChatActs): Promise<ToolResult> {
  if (message.trim() === "") return errorResult("Give the new text as message.");
  return changeResult(await acts.edit(to, messageId, message), `Edited message ${messageId}.`);
}

async function react({ emoji, remove }: Input, { to, messageId }: Place, acts: ChatActs): Promise<ToolResult> {
  const name = givenText(emoji);
  if (remove === true)
    return changeResult(await acts.react(to, messageId, undefined), `Took the reaction off message ${messageId}.`);
  if (name === undefined) return errorResult("Give the emoji.");
  return changeResult(await acts.react(to, messageId, name), `Reacted with ${name} to message ${messageId}.`);
}

/** Result of a change, for the model. */
export function changeResult(result: SendResult, done: string, details?: Record<string, unknown>): ToolResult {
  return result.kind === "sent" ? textResult(done, details) : failureResult(result);
}

/** Failure of a change, for the model. */
export function failureResult(result: Exclude<SendResult, { kind: "sent" }>): ToolResult {
  switch (result.kind) {
    case "refused":
      return errorResult(`The platform refused it: ${result.reason}`);
    case "unknown":
      return errorResult(`It is not known whether it was done: ${result.reason}`);
    case "retry": {
      const when = result.afterMs === undefined ? "later" : `in ${Math.ceil(result.afterMs / 1000)} s`;
      return errorResult(`It was not done: ${result.reason}. Try again ${when}.`);
    }
  }
}

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
