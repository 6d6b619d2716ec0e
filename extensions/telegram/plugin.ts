import type { Contributor } from "openclaw/plugin-sdk";

const BOT_TOKEN = {
  key: "botToken",
  secret: { env: "TELEGRAM_BOT_TOKEN" },
  shape: {
    pattern: /^\d+:[\w-]+$/,
    what: "Telegram's bot token is a number, a colon and letters, such as 123456:ABC-DEF",
    fix: "Ask @BotFather for it.",
  },
};

/** Registers Telegram. */
export const contributor: Contributor = {
  id: "telegram",
  register: (registry) =>
    registry.addChannel({
      id: "telegram",
      label: "Telegram",
      config: async () => (await import("./config.ts")).telegramConfig,
      adapter: async () => (await import("./index.ts")).telegram,
      setup: {
        flags: [
          {
            ...BOT_TOKEN,
            name: "token",
            usage: "--token <token>",
            about: "the bot's token; - reads it from standard input",
            label: "Bot token, from @BotFather",
            isRequired: true,
          },
          { ...BOT_TOKEN, name: "botToken", usage: "--bot-token <token>", about: "the bot's token" },
          {
            name: "tokenFile",
            usage: "--token-file <path>",
            about: "a file that contains the token",
            key: "tokenFile",
            label: "File with the token, on the gateway's machine",
          },
        ],
      },
    }),
};
