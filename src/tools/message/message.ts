import { createHash } from "node:crypto";
import { defineTool, errorResult, textResult } from "../define.ts";
import type { Peer } from "../../types/chat/message.ts";
import type { ToolContext, Tool, ToolResult } from "../../types/run/tool.ts";
import type { Risk } from "../../types/run/untrusted.ts";
import { shorten } from "../../utils/text/shorten.ts";
import { changeMessage, isHome, mayReach, refusalFor, chosenChat, type MessageToolOptions } from "./change.ts";
import { actionsIn, CHAT_ACTIONS, isChatAction, missingAction } from "./chat-actions.ts";
import { ACTIONS, inputFor, type MessageAction, type Input, givenText } from "./fields.ts";
import { MESSAGE_TOOL, targetName, callKeyPrefix, postedResult } from "./message-result.ts";
import type { ButtonLimits } from "../../types/chat/channel.ts";
import type { ChatPost, FileForm } from "../../types/chat/send.ts";
import { buttonsFor, presented } from "./presentation.ts";

/** Most characters of an address in a question; the call itself is shown too. */
const MOST_ADDRESS = 200;

const IN_CHAT =
  "Send a message or file into a chat at once, or act in a chat in other ways. Your answer goes to the chat by " +
  "itself: use this for files, for other chats, and for what must go out before you are done.";
const FROM_CLIENT =
  "Send a message or file into a chat of a connected channel, or act in it in other ways. Name the chat with channel and to. Your " +
  "answer goes to your person by itself, who writes from no such chat.";

/**
 * The tool `message`: acts in the chat that the run answers, and in others where that is allowed. Belongs to one run.
 */
export function messageTool(options: MessageToolOptions): Tool {
  const { scene, acts } = options;
  const offered = offeredIn(options);
  const calls = new Calls(scene.inboxId);
  return defineTool({
    name: MESSAGE_TOOL,
    label: "Message",
    description: scene.peer ? IN_CHAT : FROM_CLIENT,
    ...inputFor(offered.length > 0 ? offered : ["send"], !scene.peer || acts.buttons(scene.peer) !== undefined),
    hasSideEffects: true,
    async riskOf(input) {
      const to = chosenChat(input, options);
      const isHarmless =
        isHome(to, scene.peer) || (isChatAction(input.action) && CHAT_ACTIONS[input.action].isQuestion);
      const writes: Risk | undefined = isHarmless
        ? undefined
        : { use: "messages", what: `writes to another chat, ${targetName(to)}` };
      const fetched = input.action === "send" ? fetchedBy(input) : undefined;
      if (fetched === undefined) return writes;
      const fetches: Risk = { use: "network", what: `fetches ${shorten(fetched, MOST_ADDRESS)}` };
      return writes ? [writes, fetches] : fetches;
    },
    async run(input, context) {
      if (!offered.includes(input.action)) return errorResult(`The action ${input.action} is not available.`);
      return run(input, options, { calls, context });
    },
  });
}

/**
 * Actions that the chat's platform and the settings offer. In a run without a chat, each call is judged by the chat
 * that it names.
 */
function offeredIn(options: MessageToolOptions): readonly MessageAction[] {
  const { scene, settings } = options;
  return scene.peer ? actionsIn(scene.peer, options) : ACTIONS.filter((action) => settings.actions.includes(action));
}

/** Result of a `dryRun`: the effect that the call would have. */
function dryResult({ action }: Input, to: Peer, options: MessageToolOptions): ToolResult {
  if (!mayReach(to, options)) return errorResult(refusalFor(to, options.scene.peer));
  return textResult(`Nothing was done, as dryRun asks: ${action} would go to ${targetName(to)}.`, { dryRun: true });
}

async function run(
  input: Input,
  options: MessageToolOptions,
  more: { readonly calls: Calls; readonly context: ToolContext },
): Promise<ToolResult> {
  const { action } = input;
  const to = chosenChat(input, options);
  if (input.dryRun === true) return dryResult(input, to, options);
  if (isChatAction(action)) return CHAT_ACTIONS[action].run(input, to, options);
  if (!mayReach(to, options)) return errorResult(refusalFor(to, options.scene.peer));
  if (!options.acts.can(to, action)) return missingAction(action, to, options);
  return action === "send" ? send(input, to, { ...options, ...more }) : changeMessage(input, to, options);
}

interface SendSetting extends MessageToolOptions {
  readonly calls: Calls;
  readonly context: ToolContext;
}

/**
 * Hosts that a guest's turn may fetch from, since a URL and even a host name can carry data out. Undefined: all hosts.
 */
function hostsFor({ scene, settings }: MessageToolOptions): readonly string[] | undefined {
  return scene.isOwner || settings.mediaHosts.includes("*") ? undefined : settings.mediaHosts;
}

const isAddress = (ref: string): boolean => /^[a-z][\w+.-]*:\/\//i.test(ref);

/** The first web address from which a message would fetch a file. */
const fetchedBy = (input: Input): string | undefined => filesOf(input).find(isAddress);

/** The first web address that may not be fetched. */
function closedAddress(media: readonly string[], hosts: readonly string[] | undefined): string | undefined {
  if (hosts === undefined) return undefined;
  const isOpen = (host: string) => hosts.some((one) => host === one || host.endsWith(`.${one}`));
  return media.find((ref) => isAddress(ref) && !isOpen(URL.parse(ref)?.hostname ?? ""));
}

const NO_FETCH =
  "Nothing was fetched and nothing sent: this conversation is not an owner's, and web addresses may carry data out. An owner " +
  "may ask for it, or the operator lists the host in tools.message.mediaHosts. A link in the text of the message is fine.";

/** Sends a message through the outbox. */
async function send(input: Input, to: Peer, options: SendSetting): Promise<ToolResult> {
  const { acts, scene, calls, context } = options;
  const hosts = hostsFor(options);
  const content = contentOf(input, { limits: acts.buttons(to), hosts });
  if (typeof content === "string") return errorResult(content);
  const { message, media, files, buttons } = content;
  const replyTo = givenText(input.replyTo);
  const texts = [
    targetName(to),
    message,
    replyTo ?? "",
    ...media,
    ...files.map(({ bytes }) => createHash("sha256").update(bytes).digest("hex")),
    ...buttons.flatMap(({ label, command }) => [label, command]),
  ];
  const post: ChatPost = {
    key: calls.keyFor(context.callId, texts),
    inboxId: scene.inboxId,
    to,
    message,
    media,
    files,
    form: formOf(input),
    silent: input.silent ?? false,
    replyTo,
    workspace: context.workspace,
    ...(hosts && { hosts }),
    ...(buttons.length > 0 && { buttons }),
  };
  return postedResult(await acts.send(post, context.signal), to);
}

/** The form of a call's files. `asVoice` has priority over `forceDocument`. */
const formOf = ({ asVoice, forceDocument, filename, mimeType: mime }: Input): FileForm => ({
  ...(forceDocument === true && { as: "document" }),
  ...(asVoice === true && { as: "voice" }),
  name: baseName(filename),
  mime: givenText(mime),
});

/** A name without folders. */
const baseName = (name: string | undefined): string | undefined => givenText(name?.split(/[/\\]/).at(-1));

type Content = Required<Pick<ChatPost, "message" | "media" | "files" | "buttons">>;

/** The content of a call; a text for the model when the content is not valid. */
function contentOf(
  input: Input,
  { limits, hosts }: { limits: ButtonLimits | undefined; hosts: readonly string[] | undefined },
): Content | string {
  const media = filesOf(input);
  const unread = attachmentWithoutFile(input);
  if (unread !== undefined) return unread;
  const files = contentsIn(input);
  if (typeof files === "string") return files;
  const hasFiles = media.length + files.length > 0;
  const { message, buttons: wanted } = shownBy(input, hasFiles ? undefined : limits);
  if (message.trim() === "" && !hasFiles) return "There is nothing to send: give message or media.";
  if (closedAddress(media, hosts) !== undefined) return NO_FETCH;
  const buttons = buttonsFor(wanted, limits);
  if (typeof buttons === "string") return `Nothing was sent. ${buttons}`;
  const isMixed = buttons.length > 0 && (message.trim() === "" || hasFiles);
  return isMixed
    ? "Nothing was sent. Buttons need a message, and go without files."
    : { message, media, files, buttons };
}

/**
 * The text and the buttons of a call, with those of its presentation. `limits` is undefined for a message with files,
 * which has no buttons: its choices are lines.
 */
function shownBy({ message = "", buttons = [], presentation }: Input, limits: ButtonLimits | undefined) {
  if (!presentation) return { message, buttons };
  const parts = presented(presentation, message, limits);
  return { message: parts.message, buttons: [...parts.buttons, ...buttons] };
}

function filesOf({ media = [], path, filePath, attachments = [] }: Input): readonly string[] {
  const attached = attachments.flatMap((one) => one.media ?? one.path ?? one.filePath ?? one.url ?? []);
  const named = [...(typeof media === "string" ? [media] : media), path, filePath, ...attached];
  return [...new Set(named.flatMap((one) => givenText(one) ?? []))];
}

/**
 * A text about an attachment without a known field for its file, which would be lost without a word. An attachment
 * whose fields are empty counts as left out.
 */
function attachmentWithoutFile({ attachments = [] }: Input): string | undefined {
  const isUnread = ({ media, path, filePath, url, buffer }: (typeof attachments)[number]) =>
    [media, path, filePath, url, buffer].every((one) => one === undefined);
  const index = attachments.findIndex(isUnread);
  if (index < 0) return undefined;
  return `Nothing was sent. Attachment ${index + 1} names no file: give media, path, filePath or url, or buffer with Base64.`;
}

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** The files inside a call, in Base64 with or without `data:…;base64,`; a text for the model when one is no Base64. */
function contentsIn({ buffer, filename, attachments = [] }: Input): NonNullable<ChatPost["files"]> | string {
  const held = [{ buffer, filename, name: undefined }, ...attachments].flatMap(({ buffer: text = "", ...names }) => {
    const content = text.replace(/^data:[^,]{0,200};base64,/, "").replaceAll(/\s+/g, "");
    return content === "" ? [] : [{ content, name: baseName(names.filename ?? names.name) }];
  });
  if (!held.every(({ content }) => BASE64.test(content))) return "Nothing was sent. buffer holds a file in Base64.";
  return held.map(({ content, name }) => ({ bytes: Buffer.from(content, "base64"), name }));
}

/**
 * Makes the outbox keys of calls. A key includes the content, because some providers give several calls of a run the
 * same id.
 */
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
