import type { Dispatch } from "../../dispatch/dispatch.ts";
import { runIdOf } from "../../dispatch/turn/ids.ts";
import type { MessageLook } from "../../store/journal/messages.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { TurnKinds } from "../../types/run/turn-kind.ts";
import { cameIn } from "./view.ts";

interface Place {
  readonly dispatch: { readonly lanes: Pick<Dispatch["lanes"], "waitingIn"> };
  readonly messages: Pick<MessageLook, "inboxRow">;
  readonly kinds: TurnKinds;
}

/** The messages of people that wait in a session, in the order in which their turns begin. */
export async function waitingMessages(key: SessionKey, { dispatch, messages, kinds }: Place) {
  const said = dispatch.lanes.waitingIn(key).filter(({ message }) => kinds.of(message).takesCommands);
  // A message that was dropped may still be part of a turn that waits with others.
  const rows = await Promise.all(said.map(async (row) => ((await messages.inboxRow(row.id))?.outcome ? [] : [row])));
  return rows.flat().map(showWaiting);
}

function showWaiting(row: InboxRow) {
  const { channel, text, files, receivedAt, sender, isOperator } = cameIn(row);
  return {
    id: row.id,
    runId: runIdOf(row),
    channel,
    text,
    files,
    receivedAt,
    sender,
    ...(isOperator === true && { isOperator }),
  };
}
