import { QUEUE_DROPS, QUEUE_MODES } from "../../types/queue.ts";
import type { Session, SessionPatch } from "../../types/session.ts";
import { queueWord } from "../directives/queue-words.ts";
import { QUEUE_MODE_RULES } from "../queue/queue-modes.ts";
import { queueSettings, queueWishOf, type QueueWish } from "../queue/queue-settings.ts";
import type { CommandAnswer, CommandContext } from "./kit/command.ts";
import { storeSetting } from "./kit/store-setting.ts";

/** Shows or sets how messages of this session wait. Holds from the next message on, also while a turn is running. */
export async function setQueue(context: CommandContext, session?: Session): Promise<CommandAnswer> {
  const words = context.args.split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return { text: shown(context, "") };
  if (words.length === 1 && ["default", "reset"].includes(words[0]?.toLowerCase() ?? "")) {
    await storeSetting(context, NOTHING, session);
    return { text: shown(context, "As configured. ") };
  }
  const wishes = words.map((word) => ({ word, wish: queueWord(word) }));
  const unknown = wishes.find(({ wish }) => wish === undefined);
  if (unknown) return { text: unknownWord(unknown.word) };
  await storeSetting(context, patchOf(Object.assign({}, ...wishes.map(({ wish }) => wish))), session);
  return { text: shown(context, "") };
}

const NOTHING: SessionPatch = {
  queueMode: undefined,
  queueDebounceMs: undefined,
  queueCap: undefined,
  queueDrop: undefined,
};

const patchOf = ({ mode, debounceMs, cap, drop }: QueueWish): SessionPatch => ({
  ...(mode !== undefined && { queueMode: mode }),
  ...(debounceMs !== undefined && { queueDebounceMs: debounceMs }),
  ...(cap !== undefined && { queueCap: cap }),
  ...(drop !== undefined && { queueDrop: drop }),
});

function shown({ key, message, ports }: CommandContext, before: string): string {
  const entry = ports.storage.sessions.peek(key);
  const { mode, debounceMs, cap, drop } = queueSettings(message.from, entry, ports.settings());
  const isOwn = Object.keys(queueWishOf(entry)).length > 0;
  const where = isOwn ? "set here" : "as configured";
  return [
    `${before}While I work, a message ${QUEUE_MODE_RULES[mode].help}.`,
    `Queue: ${mode}, debounce ${debounceMs} ms, cap ${cap}, drop ${drop} (${where}).`,
  ].join("\n");
}

const unknownWord = (word: string): string =>
  [
    `I do not know "${word}" for the queue, so nothing is changed. Modes: ${QUEUE_MODES.join(", ")}.`,
    `Numbers: debounce:2s (at most 10m), cap:20 (1 to 1000), drop:${QUEUE_DROPS.join(" or drop:")}.`,
  ].join("\n");
