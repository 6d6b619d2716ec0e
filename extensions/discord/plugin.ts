import type { Contributor } from "openclaw/plugin-sdk";

/** Registers Discord. */
export const contributor: Contributor = {
  id: "discord",
  register: (registry) =>
    registry.addChannel({
      id: "discord",
      label: "Discord",
      config: async () => (await import("./config.ts")).discordConfig,
      adapter: async () => (await import("./index.ts")).discord,
      setup: {
        flags: [
          {
            name: "token",
            usage: "--token <token>",
            about: "the bot's token; - reads it from standard input",
            key: "token",
            label: "Bot token",
            secret: { env: "DISCORD_BOT_TOKEN" },
            isRequired: true,
          },
          { name: "botToken", usage: "--bot-token <token>", about: "the bot's token", key: "token", secret: {} },
          {
            name: "tokenFile",
            usage: "--token-file <path>",
            about: "a file that contains the token",
            key: "token",
            label: "File with the token, on the gateway's machine",
            isFile: true,
          },
        ],
      },
    }),
};
