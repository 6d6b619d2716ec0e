import type { ChannelLimits, ChannelLink, SendResult } from "../../src/types/chat/channel.ts";
import type { Peer } from "../../src/types/chat/message.ts";
import type { OutboundPart } from "../../src/types/chat/reply.ts";

export interface ShownMessage {
  readonly id: string;
  text: string;
  readonly chat: string;
  readonly replyTo?: string;
  readonly edits: string[];
  buttons: readonly string[];
}

/** A chat platform: what people see of it, and what it answers. */
export class ChatPlatform implements ChannelLink {
  readonly messages: ShownMessage[] = [];
  readonly calls: { call: "send" | "edit"; text: string; key?: string; silent?: boolean }[] = [];
  /** What each send is an answer to, by the key of its event. */
  readonly answered: (readonly [text: string, eventKey: string | undefined])[] = [];
  typed = 0;
  /** How often the end of "typing…" was asked for. */
  typingEnds = 0;
  /** What the next calls give instead of success; `lands` says whether the message is there all the same. */
  readonly script: { result: SendResult; lands?: boolean }[] = [];
  /** Nothing can be removed here. */
  keepsAll = false;
  /** Calls wait for it. */
  gate: Promise<void> | undefined;
  /** The names of chats, or of threads as `chat/thread`, and the ids that they stand for. */
  readonly names = new Map<string, string>();
  #ids = 0;

  async send(
    to: Peer,
    part: OutboundPart,
    options: {
      replyTo?: string;
      answers?: string;
      idempotencyKey: string;
      buttons?: readonly { command: string }[];
      silent?: boolean;
    },
  ): Promise<SendResult> {
    const { idempotencyKey: key, silent } = options;
    this.calls.push({ call: "send", text: textOf(part), key, ...(silent !== undefined && { silent }) });
    this.answered.push([textOf(part), options.answers]);
    await this.gate;
    const next = this.script.shift();
    if (next && next.lands !== true) return next.result;
    this.#ids += 1;
    const id = `m${this.#ids}`;
    this.messages.push({
      id,
      text: textOf(part),
      chat: to.chat.id,
      edits: [],
      buttons: (options.buttons ?? []).map((button) => button.command),
      ...(options.replyTo !== undefined && { replyTo: options.replyTo }),
    });
    return next?.result ?? { kind: "sent", messageId: id };
  }

  async edit(
    _to: Peer,
    messageId: string,
    part: OutboundPart & { kind: "text" },
    options: { buttons?: readonly { command: string }[] } = {},
  ): Promise<SendResult> {
    this.calls.push({ call: "edit", text: textOf(part) });
    await this.gate;
    const next = this.script.shift();
    if (next && next.lands !== true) return next.result;
    const message = this.messages.find(({ id }) => id === messageId);
    if (!message) return { kind: "refused", reason: "message to edit not found" };
    message.edits.push(message.text);
    message.text = textOf(part);
    message.buttons = (options.buttons ?? []).map((button) => button.command);
    return next?.result ?? { kind: "sent", messageId };
  }

  async chatId({ chat, thread }: Peer): Promise<string> {
    return this.names.get(`${chat.id}/${thread}`) ?? this.names.get(chat.id) ?? chat.id;
  }

  async remove(_to: Peer, messageId: string): Promise<SendResult> {
    const at = this.messages.findIndex(({ id }) => id === messageId);
    if (this.keepsAll) return { kind: "refused", reason: "message can't be deleted" };
    if (at >= 0) this.messages.splice(at, 1);
    return { kind: "sent", messageId };
  }

  async typing(): Promise<void> {
    this.typed += 1;
  }

  async endTyping(): Promise<void> {
    this.typingEnds += 1;
  }

  async close(): Promise<void> {}

  get texts(): string[] {
    return this.messages.map(({ text }) => text);
  }
}

function textOf(part: OutboundPart): string {
  if (part.kind === "text") return part.body;
  const files = "<media>".repeat(1 + (part.more?.length ?? 0));
  return [...(part.caption ? [part.caption.body] : []), files].join(" ");
}

export const LIMITS: ChannelLimits = { text: 4096, format: "plain", media: 1000 };
