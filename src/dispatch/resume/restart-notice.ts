import { createHash } from "node:crypto";
import { z } from "zod";
import { inSession } from "../../sessions/in-session.ts";
import { NOTICE_TYPE } from "../../sessions/transcript/history.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import { sessionKey, type SessionKey } from "../../types/ids.ts";
import type { InboxRow, KeyValue } from "../../types/journal.ts";
import { isForClient } from "../chats.ts";
import type { ChatNotices } from "../notices/chat-notices.ts";
import type { DispatchPorts } from "../ports.ts";
import { turnIdOf } from "../turn-facts.ts";

/**
 * The value with the messages that asked for a restart. They are kept: whoever asked must neither be informed twice nor
 * cause another restart.
 */
const NAME = "restart";
/** The most messages that are kept; of more, the oldest are forgotten. */
const MOST_NOTED = 100;

const noted = z.object({
  channel: z.string(),
  account: z.string(),
  eventKey: z.string(),
  session: z.string(),
  at: z.number(),
  told: z.boolean(),
});
type Noted = z.output<typeof noted>;

/** An older version of the gateway kept the last message alone. */
const notes = z.union([z.array(noted), noted.transform((one) => [one])]);

const BACK = "The gateway is back.";

async function askedBy(values: KeyValue): Promise<readonly Noted[]> {
  const text = await values.get(NAME);
  if (text === undefined) return [];
  try {
    return notes.parse(JSON.parse(text));
  } catch {
    // Nobody can be informed any more; the next restart is noted anew.
    return [];
  }
}

/** Whether the gateway has ended, or ends, because of this message. */
export async function isRestartOf({ from, eventKey }: InboundMessage, values: KeyValue): Promise<boolean> {
  const asked = await askedBy(values);
  return asked.some((one) => one.channel === from.channel && one.account === from.account && one.eventKey === eventKey);
}

/**
 * Notes that a message asked for a restart. From now on the message causes no other restart. Durable when the promise
 * resolves. Call this function for one message at a time.
 */
export async function noteRestart(
  { message: { from, eventKey }, key, at }: { message: InboundMessage; key: SessionKey; at: number },
  values: KeyValue,
): Promise<void> {
  const { channel, account } = from;
  const one: Noted = { channel, account, eventKey, session: key, at, told: false };
  await values.set(NAME, JSON.stringify([...(await askedBy(values)), one].slice(-MOST_NOTED)));
}

/**
 * Informs each chat that asked for a restart, once, that the gateway is back. A client whose command has no answer yet
 * gets that answer instead. Call this function before unfinished messages are taken up.
 */
export async function tellRestarted(
  notices: Pick<ChatNotices, "answer">,
  ports: Pick<DispatchPorts, "storage">,
): Promise<void> {
  const { values, inbox } = ports.storage.journal;
  const asked = await askedBy(values);
  const waiting = asked.filter(({ told }) => !told);
  if (waiting.length === 0) return;
  const rows = await Promise.all(
    waiting.map(async ({ channel, account, eventKey, session }) => ({
      row: await inbox.find(channel, account, eventKey),
      key: sessionKey(session),
    })),
  );
  // Of several messages of one chat, the last one is answered.
  const byChat = new Map(rows.flatMap(({ row, key }) => (row ? [[placeOf(row, key), { row, key }] as const] : [])));
  for (const { row, key } of byChat.values()) await tell(row, key, notices, ports);
  await values.set(NAME, JSON.stringify(asked.map((one): Noted => ({ ...one, told: true }))));
}

const placeOf = ({ message: { from } }: InboxRow, key: SessionKey): string => JSON.stringify([from, key]);

async function tell(
  row: InboxRow,
  key: SessionKey,
  notices: Pick<ChatNotices, "answer">,
  ports: Pick<DispatchPorts, "storage">,
): Promise<void> {
  if (isForClient(row.message) && !row.outcome) return;
  if (!isForClient(row.message)) {
    await notices.answer(row, { text: BACK, because: "command", key: `in:${row.id}:restarted` });
    return;
  }
  const id = createHash("sha256")
    .update(`restarted\n${turnIdOf(row)}`)
    .digest("hex")
    .slice(0, 16);
  await inSession(
    key,
    async (session) => {
      if ((await session.after(id)) !== undefined) return;
      await session.append({ type: "custom", customType: NOTICE_TYPE, data: { text: BACK } }, { id, durable: true });
    },
    ports.storage,
  );
}
