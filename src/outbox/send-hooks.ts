import type { HookContext, LateCalls } from "../types/hook/hooks.ts";
import type { SessionKey } from "../types/ids.ts";
import type { OutboxRow } from "../types/journal.ts";
import type { Peer } from "../types/chat/message.ts";
import { cutLong, isTooLong } from "../plugins/longest-text.ts";
import type { ReplyBlock } from "../types/chat/reply.ts";
import { isFields } from "../utils/fields.ts";
import { shorten } from "../utils/text/shorten.ts";
import type { OutboxDeps } from "./ports.ts";
import { partText } from "./render.ts";

/** Characters of a plugin's reason in the log. */
const MOST_SHOWN = 500;

type HookPorts = Pick<OutboxDeps, "hooks" | "log">;

interface Leaving {
  readonly replyKey: string;
  readonly to: Peer;
  readonly replyTo?: string | undefined;
  readonly session?: SessionKey | undefined;
  /** Late calls of all blocks of the reply together. */
  readonly lateCalls: LateCalls;
}

/** Whether plugins may change or cancel a reply. Then nothing may be shown before their hooks have ended. */
export const mayChangeReplies = ({ hooks }: Pick<OutboxDeps, "hooks">): boolean =>
  hooks !== undefined && (hooks.has("reply_payload_sending") || hooks.has("message_sending"));

/** The blocks of a reply as plugins leave them. A block that a plugin cancels is left out. */
export async function hookedBlocks(
  blocks: readonly ReplyBlock[],
  reply: Omit<Leaving, "lateCalls">,
  ports: HookPorts,
): Promise<readonly ReplyBlock[]> {
  if (!mayChangeReplies(ports)) return blocks;
  const leaving = { ...reply, lateCalls: new Map<string, number>() };
  const left: ReplyBlock[] = [];
  for (const block of blocks) {
    const hooked = new HookedBlock(block, leaving, ports);
    await hooked.callPayloadHooks();
    await hooked.callTextHooks();
    if (hooked.block) left.push(hooked.block);
  }
  return left;
}

/** A block of a reply on its way through the hooks. */
class HookedBlock {
  /** The block; undefined once a hook has cancelled it. */
  block: ReplyBlock | undefined;
  readonly #leaving: Leaving;
  readonly #ports: HookPorts;

  constructor(block: ReplyBlock, leaving: Leaving, ports: HookPorts) {
    this.block = block;
    this.#leaving = leaving;
    this.#ports = ports;
  }

  async callPayloadHooks(): Promise<void> {
    const { replyKey, session: sessionKey, to, lateCalls } = this.#leaving;
    const { hooks } = this.#ports;
    if (hooks?.has("reply_payload_sending") !== true || !this.block) return;
    const event = {
      payload: payloadOf(this.block),
      kind: kindOf(replyKey),
      channel: to.channel,
      ...(sessionKey !== undefined && { sessionKey }),
    };
    const call = { name: "reply_payload_sending" as const, event, context: contextOf(this.#leaving), lateCalls };
    await hooks.chain(call, (before, answer, owner) => {
      if (!isFields(answer)) return before;
      const { payload, cancel, reason } = answer;
      const left = this.#take({ owner, text: isFields(payload) ? payload["text"] : undefined, cancel, reason });
      return left && { ...before, payload: payloadOf(left) };
    });
  }

  async callTextHooks(): Promise<void> {
    const { replyTo, to, lateCalls } = this.#leaving;
    const { hooks } = this.#ports;
    if (hooks?.has("message_sending") !== true || !this.block || this.block.kind === "media") return;
    const event = {
      to: to.chat.id,
      content: this.block.markdown,
      metadata: { channel: to.channel, accountId: to.account },
      ...(replyTo !== undefined && { replyToId: replyTo }),
      ...(to.thread !== undefined && { threadId: to.thread }),
    };
    const call = { name: "message_sending" as const, event, context: contextOf(this.#leaving), lateCalls };
    await hooks.chain(call, (before, answer, owner) => {
      if (!isFields(answer)) return before;
      const { content: text, cancel, cancelReason: reason } = answer;
      const left = this.#take({ owner, text, cancel, reason });
      return left && { ...before, content: left.kind === "media" ? before.content : left.markdown };
    });
  }

  #take({ owner, text, cancel, reason }: Readonly<Record<"text" | "cancel" | "reason", unknown>> & { owner: string }) {
    if (cancel === true) {
      const why = typeof reason === "string" && { why: shorten(reason, MOST_SHOWN) };
      this.#ports.log.info("a plugin cancelled a message", { owner, reply: this.#leaving.replyKey, ...why });
      this.block = undefined;
    } else if (this.block && typeof text === "string" && text.trim() !== "") this.#setText(text, owner);
    return this.block;
  }

  #setText(text: string, owner: string): void {
    if (!this.block || this.block.kind === "media") return;
    const { replyKey: reply } = this.#leaving;
    if (isTooLong(text)) this.#ports.log.warn("the text of a plugin is cut", { owner, reply, chars: text.length });
    this.block = { ...this.block, markdown: cutLong(text) };
  }
}

/** Calls `message_sent`; nobody waits for the hooks. */
export function notifySent(
  row: OutboxRow,
  how: { readonly success: boolean; readonly messageId?: string; readonly error?: string },
  { hooks }: Pick<OutboxDeps, "hooks">,
): void {
  if (hooks?.has("message_sent") !== true) return;
  const { to, sessionKey: session, runId } = row;
  const event = { to: to.chat.id, content: partText(row.body), ...how };
  const context = { ...contextOf({ to, session }), ...(runId !== undefined && { runId }) };
  hooks.notify("message_sent", event, context);
}

const payloadOf = (block: ReplyBlock) =>
  block.kind === "media" ? { mediaUrls: [fileOf(block)] } : { text: block.markdown };

const fileOf = ({ media: { name, source } }: Extract<ReplyBlock, { kind: "media" }>): string =>
  name ?? (source.at === "store" ? source.id : source.ref);

/** Blocks are the parts of an answer that is still being written. */
const kindOf = (replyKey: string): "block" | "final" => (/:block:\d+$/.test(replyKey) ? "block" : "final");

function contextOf({ to, session: sessionKey }: Pick<Leaving, "to" | "session">): HookContext {
  const context = { channelId: to.channel, accountId: to.account, conversationId: to.chat.id };
  return { ...context, ...(sessionKey !== undefined && { sessionKey }) };
}
