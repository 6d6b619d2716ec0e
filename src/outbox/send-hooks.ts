import type { HookContext } from "../types/hook/hooks.ts";
import type { SessionKey } from "../types/ids.ts";
import type { OutboxRow } from "../types/journal.ts";
import type { Peer } from "../types/chat/message.ts";
import type { ReplyBlock } from "../types/chat/reply.ts";
import { isFields } from "../utils/fields.ts";
import type { OutboxDeps } from "./ports.ts";
import { partText } from "./render.ts";

type HookPorts = Pick<OutboxDeps, "hooks" | "log">;

interface Leaving {
  readonly replyKey: string;
  readonly to: Peer;
  readonly replyTo?: string | undefined;
  readonly session?: SessionKey | undefined;
}

/** Whether plugins may change or cancel what is sent. Nothing may be shown before they have had their say. */
export const mayChangeReplies = ({ hooks }: Pick<OutboxDeps, "hooks">): boolean =>
  hooks !== undefined && (hooks.has("reply_payload_sending") || hooks.has("message_sending"));

/** The blocks of a reply as plugins leave them. A block that one of them cancels is left out. */
export async function hookedBlocks(
  blocks: readonly ReplyBlock[],
  leaving: Leaving,
  ports: HookPorts,
): Promise<readonly ReplyBlock[]> {
  if (!mayChangeReplies(ports)) return blocks;
  const left: ReplyBlock[] = [];
  for (const block of blocks) {
    const payload = await afterPayloadHooks(block, leaving, ports);
    const text = payload && (await afterTextHooks(payload, leaving, ports));
    if (text) left.push(text);
  }
  return left;
}

async function afterPayloadHooks(
  block: ReplyBlock,
  leaving: Leaving,
  { hooks, log }: HookPorts,
): Promise<ReplyBlock | undefined> {
  if (hooks?.has("reply_payload_sending") !== true) return block;
  const { session: sessionKey, to } = leaving;
  let current: ReplyBlock | undefined = block;
  const event = {
    payload: payloadOf(block),
    kind: kindOf(leaving.replyKey),
    channel: to.channel,
    ...(sessionKey !== undefined && { sessionKey }),
  };
  const call = { name: "reply_payload_sending" as const, event, context: contextOf(leaving) };
  await hooks.chain(call, (before, answer, owner) => {
    if (!isFields(answer) || !current) return before;
    if (answer["cancel"] === true) {
      log.info("a plugin cancelled a reply", { owner, reply: leaving.replyKey, why: answer["reason"] });
      current = undefined;
      return undefined;
    }
    current = withText(current, isFields(answer["payload"]) ? answer["payload"]["text"] : undefined);
    return { ...before, payload: payloadOf(current) };
  });
  return current;
}

async function afterTextHooks(
  block: ReplyBlock,
  leaving: Leaving,
  { hooks, log }: HookPorts,
): Promise<ReplyBlock | undefined> {
  if (block.kind === "media" || hooks?.has("message_sending") !== true) return block;
  const { to, replyTo } = leaving;
  let current: ReplyBlock | undefined = block;
  const event = {
    to: to.chat.id,
    content: block.markdown,
    metadata: { channel: to.channel, accountId: to.account },
    ...(replyTo !== undefined && { replyToId: replyTo }),
    ...(to.thread !== undefined && { threadId: to.thread }),
  };
  await hooks.chain({ name: "message_sending", event, context: contextOf(leaving) }, (before, answer, owner) => {
    if (!isFields(answer) || !current) return before;
    if (answer["cancel"] === true) {
      log.info("a plugin cancelled a message", { owner, reply: leaving.replyKey, why: answer["cancelReason"] });
      current = undefined;
      return undefined;
    }
    current = withText(current, answer["content"]);
    return { ...before, content: current.kind === "media" ? before.content : current.markdown };
  });
  return current;
}

/** Calls `message_sent`; nobody waits for it. */
export function notifySent(
  row: OutboxRow,
  how: { readonly success: boolean; readonly messageId?: string; readonly error?: string },
  { hooks }: Pick<OutboxDeps, "hooks">,
): void {
  if (hooks?.has("message_sent") !== true) return;
  const { to, sessionKey: session, runId, replyKey } = row;
  const event = { to: to.chat.id, content: partText(row.body), ...how };
  const context = { ...contextOf({ replyKey, to, session }), ...(runId !== undefined && { runId }) };
  hooks.notify("message_sent", event, context);
}

const payloadOf = (block: ReplyBlock) =>
  block.kind === "media" ? { mediaUrls: [fileOf(block)] } : { text: block.markdown };

const fileOf = ({ media: { name, source } }: Extract<ReplyBlock, { kind: "media" }>): string =>
  name ?? (source.at === "store" ? source.id : source.ref);

function withText(block: ReplyBlock, text: unknown): ReplyBlock {
  if (block.kind === "media" || typeof text !== "string" || text.trim() === "") return block;
  return { ...block, markdown: text };
}

/** Blocks are the parts of an answer that is still being written. */
const kindOf = (replyKey: string): "block" | "final" => (/:block:\d+$/.test(replyKey) ? "block" : "final");

function contextOf({ to, session: sessionKey }: Leaving): HookContext {
  const context = { channelId: to.channel, accountId: to.account, conversationId: to.chat.id };
  return { ...context, ...(sessionKey !== undefined && { sessionKey }) };
}
