import { createHash } from "node:crypto";
import { z } from "zod";
import { inSession } from "../../sessions/in-session.ts";
import { NOTICE_TYPE } from "../../sessions/transcript/history.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import { sessionKey, type SessionKey } from "../../types/ids.ts";
import type { InboxRow, KeyValue } from "../../types/journal.ts";
import { isForClient } from "../clients/for-client.ts";
import type { ChatNotices } from "../notices/chat-notices.ts";
import type { DispatchPorts } from "../ports.ts";

/** The last restart that a message asked for. It is kept: whoever asked must neither be told twice nor cause another one. */
const NAME = "restart";

const noted = z.object({
  channel: z.string(),
  account: z.string(),
  eventKey: z.string(),
  session: z.string(),
  at: z.number(),
  told: z.boolean(),
});
type Noted = z.output<typeof noted>;

const BACK = "The gateway is back.";

async function lastRestart(values: KeyValue): Promise<Noted | undefined> {
  const text = await values.get(NAME);
  return text === undefined ? undefined : noted.parse(JSON.parse(text));
}

/** Whether the gateway has ended, or ends, because of this message. */
export async function isRestartOf({ from, eventKey }: InboundMessage, values: KeyValue): Promise<boolean> {
  const last = await lastRestart(values);
  return last?.channel === from.channel && last.account === from.account && last.eventKey === eventKey;
}

/** From now on the message causes no other restart. Durable when it resolves. */
export async function noteRestart(
  { message: { from, eventKey }, key, at }: { message: InboundMessage; key: SessionKey; at: number },
  values: KeyValue,
): Promise<void> {
  const { channel, account } = from;
  await values.set(NAME, JSON.stringify({ channel, account, eventKey, session: key, at, told: false } satisfies Noted));
}

/**
 * Tells the chat that asked for the last restart that the gateway is back, once. A client whose command has no answer yet gets
 * that instead. Call it before unfinished messages are taken up.
 */
export async function tellRestarted(
  notices: Pick<ChatNotices, "answer">,
  ports: Pick<DispatchPorts, "journal" | "sessions">,
): Promise<void> {
  const { values, inbox } = ports.journal;
  const last = await lastRestart(values);
  if (!last || last.told) return;
  const row = await inbox.find(last.channel, last.account, last.eventKey);
  if (row) await tell(row, sessionKey(last.session), notices, ports);
  await values.set(NAME, JSON.stringify({ ...last, told: true } satisfies Noted));
}

async function tell(
  row: InboxRow,
  key: SessionKey,
  notices: Pick<ChatNotices, "answer">,
  ports: Pick<DispatchPorts, "sessions">,
): Promise<void> {
  if (isForClient(row.message) && !row.outcome) return;
  if (!isForClient(row.message)) {
    await notices.answer(row, { text: BACK, because: "command", key: `in:${row.id}:restarted` });
    return;
  }
  const id = createHash("sha256").update(`restarted\n${row.id}`).digest("hex").slice(0, 16);
  await inSession(
    key,
    async (session) => {
      if ((await session.after(id)) !== undefined) return;
      await session.append({ type: "custom", customType: NOTICE_TYPE, data: { text: BACK } }, { id, durable: true });
    },
    ports,
  );
}
