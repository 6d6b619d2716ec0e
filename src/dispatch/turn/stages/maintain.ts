import { partText } from "../../../outbox/render.ts";
import { keyOfChat } from "../../../sessions/chat-of.ts";
import { toolKeyPrefix } from "../../../tools/message/message-result.ts";
import type { SessionKey } from "../../../types/ids.ts";
import { hasOwnerRights } from "../../../types/run/principal.ts";
import { wrapUntrusted } from "../../../utils/text/untrusted.ts";
import type { OutboxRow } from "../../../types/journal.ts";
import type { Peer } from "../../../types/chat/message.ts";
import { isSameChat } from "../../queue/same-chat.ts";
import { runMaintenance } from "../../maintenance/post-turn.ts";
import { abandonTurn } from "../../recovery/unanswered-turns.ts";
import type { TurnPorts } from "../ports.ts";
import { endOf, answerText } from "../run-end.ts";
import type { StageEnd, Turn } from "../turn.ts";

/** Ends the turn as its kind says; then memory flush and compaction, while this turn still holds the session. */
export async function maintain(turn: Turn, ports: TurnPorts): Promise<StageEnd> {
  const prepared = turn.get("prepared");
  const session = turn.get("session");
  const { run, candidates } = turn.get("active");
  await endAsKind(turn, ports);
  await tellOthers(turn, ports);
  if (prepared.kind.maintenance === "full")
    await runMaintenance({ prepared, session, run, candidates, slot: turn.slot }, ports);
  return "over";
}

/** What the message tool sent to other chats is in their conversations, so that the agent knows there what it has said. */
async function tellOthers(turn: Turn, { journal, replies, sessions, settings }: TurnPorts): Promise<void> {
  const { message, rows, acting } = turn.get("prepared");
  if (turn.get("outcome") === "unfinished") return;
  const { keyFor, defaultAgent } = settings();
  const all = await Promise.all(rows.map(async ({ id }) => sentByTool(id, await journal.outbox.of(id))));
  const elsewhere = all.flat().filter(({ to }) => !isSameChat(to, message.from));
  const { key: own } = turn.get("session");
  const isOwners = hasOwnerRights(acting.principal);
  const keyOf = (to: Peer): SessionKey => {
    const said = { id: "", eventKey: "", text: "", media: [], mentionsBot: true, receivedAt: 0 };
    return keyOfChat(to, keyFor({ ...said, from: to, sender: { id: to.chat.id } }), { sessions, defaultAgent });
  };
  for (const [key, parts] of Map.groupBy(elsewhere, ({ to }) => keyOf(to))) {
    if (key === own || !sessions.peek(key)) continue;
    const words = parts.map(shown).join("\n");
    // A guest may have said what to write.
    const said = isOwners ? words : wrapUntrusted(words, { label: "Message", from: "a guest's conversation" });
    const content = `[Message] From another conversation you have written to this chat:\n\n${said}`;
    replies.notes.sentFrom(own, key, { customType: "openclaw.message", content });
  }
}

const sentByTool = (inboxId: number, rows: readonly OutboxRow[]): readonly OutboxRow[] =>
  rows.filter(({ replyKey, state }) => replyKey.startsWith(toolKeyPrefix(inboxId)) && state !== "failed");

function shown({ body }: OutboxRow): string {
  const files = body.kind === "media" ? [body.media, ...(body.more ?? [])] : [];
  return [...files.map(({ name, kind }) => `[file ${name ?? kind}]`), partText(body)]
    .filter((line) => line !== "")
    .join("\n");
}

async function endAsKind(turn: Turn, { clock, journal, log, replies }: TurnPorts): Promise<void> {
  const { message, rows, turn: entry, kind } = turn.get("prepared");
  const outcome = turn.get("outcome");
  if (!kind.end || outcome === "unfinished") return;
  const { run, usedAt } = turn.get("active");
  const { texts } = await endOf(run);
  const messages = rows.map((row) => row.message);
  const ended = { message, messages, turnId: entry.entryId, outcome, text: answerText(texts), usedAt };
  await kind.end(ended, turn.get("session"), {
    now: () => clock.now(),
    addEvent: (key, text) => journal.events.add(key, text),
    async abandon(session, turnId, why) {
      // After a power cut the journal must not resume a turn that the transcript has left out.
      await journal.inbox.synced();
      await abandonTurn(session, turnId, log, why);
    },
    note: (key, note) => replies.notes.sentFromOther(key, note),
  });
}
