// Which actions the tool `message` offers in a chat of each channel, when the config switches none off and stickers on.
import { actions as discord } from "../../extensions/discord/actions.ts";
import { actions as slack } from "../../extensions/slack/outbound/actions.ts";
import { actions as telegram } from "../../extensions/telegram/send/actions.ts";
import { CHAT_ACTIONS, isChatAction } from "../../src/tools/message/chat-actions.ts";
import { ACTIONS } from "../../src/tools/message/fields.ts";

/** Stands for a connection: nothing of it is called. */
const none = new Proxy(() => undefined, { get: () => none });

/** WhatsApp and Signal make theirs together with their connection. */
const METHODS = {
  telegram: telegram(none),
  slack: slack(none),
  discord: discord(none),
  whatsapp: { poll: none },
  signal: {},
};

/** Which of them have buttons. */
const WITH_BUTTONS = new Set(["telegram", "slack", "discord"]);

/** Every one of these channels sends, edits, deletes and reacts. */
export const messageActions = Object.entries(METHODS).map(([channel, methods]) => ({
  channel,
  hasButtons: WITH_BUTTONS.has(channel),
  actions: ACTIONS.filter((action) => !isChatAction(action) || methods[CHAT_ACTIONS[action].method] !== undefined),
}));
