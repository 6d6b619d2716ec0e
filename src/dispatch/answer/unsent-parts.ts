import type { Peer } from "../../types/chat/message.ts";
import type { SessionKey } from "../../types/ids.ts";
import { isSameChat } from "../queue/same-chat.ts";
import type { DispatchPorts } from "../ports.ts";

/** The replies that an answer consists of; see `Answering`. */
const OF_AN_ANSWER = /^in:\d+(?::again\d+)?:(?:reply|media|notice|left-out|block:\d+|(?:call|result|thought):.*)$/;

/**
 * Gives up what is planned of this session's answers to a chat and not sent yet: somebody asked for silence there. Returns the number of
 * messages. Rejects when the journal cannot be written.
 */
export async function giveUpUnsent(
  key: SessionKey,
  chat: Peer,
  { journal, outbox }: Pick<DispatchPorts, "journal" | "outbox">,
): Promise<number> {
  const rows = (await journal.outbox.open()).filter(
    ({ sessionKey, to, replyKey }) => sessionKey === key && isSameChat(to, chat) && OF_AN_ANSWER.test(replyKey),
  );
  await Promise.all(rows.map(({ id }) => outbox.drop(id)));
  return rows.length;
}
