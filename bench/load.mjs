// Loads that several experiments share.
import * as L from "./lib.mjs";

/** Each sender sends `each` messages and waits for the answer before the next. Returns the round trips in the order of their ends. */
export async function closedLoop(senders, each, { firstChat = 6000, onAnswer = () => {} } = {}) {
  const rows = [];
  const send = async (chat) => {
    for (let n = 0; n < each; n++) {
      rows.push(await L.roundTrip(chat, "", 240_000));
      onAnswer(rows.length);
    }
  };
  await Promise.all(Array.from({ length: senders }, (_, n) => send(firstChat + n)));
  return rows;
}
