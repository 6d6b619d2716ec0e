import { createHash } from "node:crypto";
import { z } from "zod";
import type { ButtonLimits, SendResult } from "../../types/chat/channel.ts";
import type { Peer } from "../../types/chat/message.ts";
import type { ChatActs, ChatPost, ChatScene } from "../../types/chat/send.ts";
import type { MessageToolSettings } from "../../types/settings.ts";
import type { Tool, ToolContext, ToolResult } from "../../types/run/tool.ts";
import { defineTool, errorResult, textResult } from "../define.ts";
import { toolSchema } from "../schema.ts";
import { buttonList, buttonsFor } from "./buttons.ts";
import { MESSAGE_TOOL, nameOf, postedResult, callKeyPrefix } from "./message-result.ts";

const ACTIONS = ["send", "react", "edit", "delete"] as const;
type Action = (typeof ACTIONS)[number];

const id = z.union([z.string(), z.number()]);
const file = z.string().optional();

/** Models omit unused fields, or send them empty. */
const fields = {
  to: id
    .optional()
    .describe("Chat, such as telegram:123, user:U1 or channel:C1; the chat of this conversation when left out"),
  target: id.optional().describe("Another name of to"),
  channel: z.string().optional().describe("Platform, when it is another one and to does not name it"),
  accountId: z.string().optional().describe("Account of ours on that platform"),
  threadId: id.optional().describe("Thread or topic of the chat"),
  message: z.string().optional().describe("Text in Markdown: what to send, or the new text of an edit"),
  media: z
    .union([z.string(), z.array(z.string()).max(10)])
    .optional()
    .describe("File of the workspace, or web address"),
  path: file.describe("Another name of media"),
  filePath: file.describe("Another name of media"),
  asVoice: z.boolean().optional().describe("Sends audio as a voice note"),
  replyTo: id.optional().describe("Id of the message that is answered"),
  messageId: id
    .optional()
    .describe("Message to react to, edit or delete; a reaction goes to the current one by itself"),
  emoji: z.string().optional().describe("Reaction"),
  remove: z.boolean().optional().describe("Takes the reaction away"),
  buttons: buttonList.describe("Buttons below the message"),
};

const inputs = new Map<string, ReturnType<typeof schemasFor>>();
const makeInput = (actions: readonly Action[]) =>
  z.object({ action: z.enum(actions).default("send").describe("What to do"), ...fields });
type Input = z.output<ReturnType<typeof makeInput>>;

/**
 * The input and what the model sees of it. A chat without buttons shows none; a model that sends some all the same learns why they are
 * refused. Returns the same objects each time, so that a JSON Schema is made once.
 */
function inputFor(actions: readonly Action[], hasButtons: boolean) {
  const name = [hasButtons, ...actions].join();
  const made = inputs.get(name) ?? schemasFor(actions, hasButtons);
  inputs.set(name, made);
  return made;
}

function schemasFor(actions: readonly Action[], hasButtons: boolean) {
  const input = makeInput(actions);
  return hasButtons ? { input } : { input, jsonSchema: toolSchema({ input: input.omit({ buttons: true }) }) };
}

export interface MessageToolOptions {
  readonly scene: ChatScene;
  readonly acts: ChatActs;
  readonly settings: MessageToolSettings;
}

/** Acts in the chat that the run answers, and in others where that is allowed. Belongs to one run. */
export function messageTool(options: MessageToolOptions): Tool {
  const { scene, acts, settings } = options;
  const has = (action: Action) =>
    settings.actions.includes(action) && (action === "send" || acts.can(scene.peer, action));
  const offered = ACTIONS.filter(has);
  const calls = new Calls(scene.inboxId);
  return defineTool({
    name: MESSAGE_TOOL,
    label: "Message",
    description:
      "Send a message or file into a chat at once, or react to, edit or delete one. Your answer goes to the chat by " +
      "itself: use this for files, for other chats, and for what must go out before you are done.",
    ...inputFor(offered.length > 0 ? offered : ["send"], acts.buttons(scene.peer) !== undefined),
    hasSideEffects: true,
    async riskOf(input) {
      const to = targetOf(input, options);
      return isHome(to, scene.peer) ? undefined : { use: "messages", what: `writes to another chat, ${nameOf(to)}` };
    },
    async run(input, context) {
      if (!offered.includes(input.action)) return errorResult(`The action ${input.action} is not available.`);
      const to = targetOf(input, options);
      if (!mayReach(to, options)) return errorResult(refusalFor(to, scene.peer));
      return input.action === "send" ? send(input, to, { ...options, calls, context }) : act(input, to, options);
    },
  });
}

function targetOf({ to, target, channel, accountId, threadId }: Input, { scene, acts }: MessageToolOptions): Peer {
  const named = { to: given(to ?? target), channel: given(channel), accountId: given(accountId) };
  return acts.find({ ...named, threadId: given(threadId) }, scene.peer);
}

const isHome = (to: Peer, home: Peer): boolean =>
  to.channel === home.channel && to.account === home.account && to.chat.id === home.chat.id;

/** Whether the turn may write to a chat: to its own always, to others for an owner or if the operator allows it. */
function mayReach(to: Peer, { scene, settings }: MessageToolOptions): boolean {
  if (isHome(to, scene.peer) || scene.isOwner) return true;
  const { allowTargets, crossContext } = settings;
  const names = [to.chat.id, `${to.channel}:${to.chat.id}`, `${to.channel}:*`, "*"];
  if (names.some((name) => allowTargets.includes(name))) return true;
  return to.channel === scene.peer.channel ? crossContext.allowWithinProvider : crossContext.allowAcrossProviders;
}

const refusalFor = (to: Peer, home: Peer): string =>
  `This conversation may write to its own chat only (${nameOf(home)}), not to ${nameOf(to)}. An owner may ask for it, or ` +
  "the operator allows it with tools.message.allowTargets or tools.message.crossContext.";

interface SendSetting extends MessageToolOptions {
  readonly calls: Calls;
  readonly context: ToolContext;
}

/** The hosts that a guest's turn may fetch from, since a URL and even a host name can carry data out. Undefined: all. */
function hostsFor({ scene, settings }: MessageToolOptions): readonly string[] | undefined {
  return scene.isOwner || settings.mediaHosts.includes("*") ? undefined : settings.mediaHosts;
}

/** The first web address that may not be fetched. */
function closedAddress(media: readonly string[], hosts: readonly string[] | undefined): string | undefined {
  if (hosts === undefined) return undefined;
  const isOpen = (host: string) => hosts.some((one) => host === one || host.endsWith(`.${one}`));
  return media.find((ref) => /^[a-z][\w+.-]*:\/\//i.test(ref) && !isOpen(URL.parse(ref)?.hostname ?? ""));
}

const NO_FETCH =
  "Nothing was fetched and nothing sent: this conversation is not an owner's, and web addresses may carry data out. An owner " +
  "may ask for it, or the operator lists the host in tools.message.mediaHosts. A link in the text of the message is fine.";

async function send(input: Input, to: Peer, options: SendSetting): Promise<ToolResult> {
  const { acts, scene, calls, context } = options;
  const hosts = hostsFor(options);
  const content = contentOf(input, { limits: acts.buttons(to), hosts });
  if (typeof content === "string") return errorResult(content);
  const { message, media, buttons } = content;
  const replyTo = given(input.replyTo);
  const texts = [
    nameOf(to),
    message,
    replyTo ?? "",
    ...media,
    ...buttons.flatMap(({ label, command }) => [label, command]),
  ];
  const post: ChatPost = {
    key: calls.keyFor(context.callId, texts),
    inboxId: scene.inboxId,
    to,
    message,
    media,
    asVoice: input.asVoice ?? false,
    replyTo,
    workspace: context.workspace,
    ...(hosts && { hosts }),
    ...(buttons.length > 0 && { buttons }),
  };
  return postedResult(await acts.send(post, context.signal), to);
}

type Content = Required<Pick<ChatPost, "message" | "media" | "buttons">>;

/** What a call sends; a text for the model when that cannot be. */
function contentOf(
  input: Input,
  { limits, hosts }: { limits: ButtonLimits | undefined; hosts: readonly string[] | undefined },
): Content | string {
  const { message = "" } = input;
  const media = filesOf(input);
  if (message.trim() === "" && media.length === 0) return "There is nothing to send: give message or media.";
  if (closedAddress(media, hosts) !== undefined) return NO_FETCH;
  const buttons = buttonsFor(input.buttons, limits);
  if (typeof buttons === "string") return `Nothing was sent. ${buttons}`;
  const isMixed = buttons.length > 0 && (message.trim() === "" || media.length > 0);
  return isMixed ? "Nothing was sent. Buttons need a message, and go without files." : { message, media, buttons };
}

function filesOf({ media = [], path, filePath }: Input): readonly string[] {
  const named = [...(typeof media === "string" ? [media] : media), path, filePath];
  return [...new Set(named.flatMap((one) => given(one) ?? []))];
}

/** Makes the outbox keys of calls. Includes the content, because some providers give several calls of a run the same id. */
class Calls {
  readonly #inboxId: number;
  readonly #counts = new Map<string, number>();

  constructor(inboxId: number) {
    this.#inboxId = inboxId;
  }

  keyFor(callId: string, content: readonly string[]): string {
    const digest = createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, 12);
    const key = `${callKeyPrefix(this.#inboxId, callId)}${digest}`;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return count === 1 ? key : `${key}:${count}`;
  }
}

async function act(input: Input, to: Peer, { acts, scene }: MessageToolOptions): Promise<ToolResult> {
  const current = isHome(to, scene.peer) && input.action === "react" ? scene.messageId : undefined;
  const messageId = given(input.messageId) ?? current;
  if (messageId === undefined) return errorResult("Say which message: give messageId.");
  const refused = await refusalOf(input.action, { to, messageId }, { acts, scene });
  if (refused !== undefined) return errorResult(refused);
  const message = { to, messageId };
  if (input.action === "delete") return resultOf(await acts.remove(to, messageId), `Deleted message ${messageId}.`);
  return input.action === "edit" ? edit(input, message, acts) : react(input, message, acts);
}

/** Guests may have the agent change only its own messages, and react only in their own chat. */
async function refusalOf(
  action: Action,
  { to, messageId }: Place,
  { acts, scene }: Pick<MessageToolOptions, "acts" | "scene">,
): Promise<string | undefined> {
  if (scene.isOwner) return undefined;
  if (action === "react")
    return isHome(to, scene.peer) ? undefined : "Only an owner's turn may react to messages of other chats.";
  if (await acts.isOwn(to, messageId)) return undefined;
  return `Message ${messageId} was not sent by the agent: only an owner's turn may ${action} it.`;
}

interface Place {
  readonly to: Peer;
  readonly messageId: string;
}

async function edit({ message = "" }: Input, { to, messageId }: Place, acts: ChatActs): Promise<ToolResult> {
  if (message.trim() === "") return errorResult("Give the new text as message.");
  return resultOf(await acts.edit(to, messageId, message), `Edited message ${messageId}.`);
}

async function react({ emoji, remove }: Input, { to, messageId }: Place, acts: ChatActs): Promise<ToolResult> {
  const name = given(emoji);
  if (remove === true)
    return resultOf(await acts.react(to, messageId, undefined), `Took the reaction off message ${messageId}.`);
  if (name === undefined) return errorResult("Give the emoji.");
  return resultOf(await acts.react(to, messageId, name), `Reacted with ${name} to message ${messageId}.`);
}

function resultOf(result: SendResult, done: string): ToolResult {
  switch (result.kind) {
    case "sent":
      return textResult(done);
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

function given(value: string | number | undefined): string | undefined {
  const text = value === undefined ? "" : String(value).trim();
  return text === "" ? undefined : text;
}
