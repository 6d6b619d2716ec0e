import type { Peer } from "../../types/chat/message.ts";
import type { SessionKey } from "../../types/ids.ts";
import { isSameChat } from "../queue/same-chat.ts";
import type { DispatchPorts } from "../ports.ts";

/** The replies that an answer consists of; see `Answering`. */
const OF_AN_ANSWER =
  /^in:\d+(?::again\d+)?:(?:reply|media|notice|left-out|voice|change:\d+|block:\d+|(?:call|result|thought|plan):.*)$/;

/** The rows of what is planned of this session's answers to a chat and not sent yet, as they are at the call. */
export async function unsentParts(
  key: SessionKey,
  chat: Peer,
  { journal }: Pick<DispatchPorts, "journal">,
): Promise<readonly number[]> {
  const rows = (await journal.outbox.open()).filter(
    ({ sessionKey, to, replyKey }) => sessionKey === key && isSameChat(to, chat) && OF_AN_ANSWER.test(replyKey),
  );
  return rows.map(({ id }) => id);
}
