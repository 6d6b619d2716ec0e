import { chromium } from "playwright-core";
import { llmTask } from "../../../extensions/llm-task/tool.ts";
import { Browsers } from "../../../src/browser/browsers.ts";
import { browserConfig } from "../../../src/browser/config.ts";
import { browserTools } from "../../../src/browser/tool.ts";
import { ttsContribution } from "../../../src/tools/media/tts.ts";
import { ACTIONS } from "../../../src/tools/message/fields.ts";
import { messageTool } from "../../../src/tools/message/message.ts";
import type { Peer } from "../../../src/types/chat/message.ts";
import type { ChatActs } from "../../../src/types/chat/send.ts";
import { systemClock } from "../../../src/types/clock.ts";
import { accountId, channelId } from "../../../src/types/ids.ts";
import type { ToolContribution } from "../../../src/types/run/tool.ts";
import { silent } from "../../kit/toy-channel.ts";

const HOME: Peer = { channel: channelId("toy"), account: accountId("default"), chat: { kind: "direct", id: "1" } };
const DONE = async () => ({ kind: "sent", messageId: "1" }) as const;

/** A chat that has everything, and takes everything. */
const acts: ChatActs = {
  find: ({ to = HOME.chat.id }) => ({ ...HOME, chat: { kind: "direct", id: to } }),
  can: () => true,
  actions: () => ({ poll: DONE, pin: DONE, createThread: DONE, renameThread: DONE, sticker: DONE }),
  buttons: () => ({ count: 3, label: 20, command: 60 }),
  isOwn: async () => true,
  send: async () => ({ state: "sent", messageIds: ["1"] }),
  react: DONE,
  edit: DONE,
  remove: DONE,
};

const MESSAGE = {
  actions: ACTIONS,
  allowTargets: [],
  mediaHosts: [],
  crossContext: { allowWithinProvider: true, allowAcrossProviders: false },
};

/** The tools for chats, browsers, speech and small tasks; there is no browser on this machine. */
export function moreContributions(): readonly ToolContribution[] {
  const browsers = new Browsers({
    config: () => browserConfig.parse({ enabled: true, executablePath: "/none/chromium" }),
    profiles: "/none/profiles",
    files: "/none/files",
    env: {},
    clock: systemClock,
    log: silent,
    load: async () => ({ chromium }),
  });
  const speech = { provider: "local", bytes: new Uint8Array(1), mime: "audio/ogg", name: "a.ogg" };
  return [
    ...browserTools(browsers),
    {
      name: "message",
      forRun: () => messageTool({ scene: { inboxId: 1, peer: HOME, isOwner: true }, acts, settings: MESSAGE }),
    },
    ttsContribution({
      levelOf: () => "off",
      services: ["local"],
      speak: async () => speech,
      keep: async () => "a.ogg",
    }),
    { name: "llm-task", forRun: llmTask({}) },
  ];
}
