import type { Contributor } from "openclaw/plugin-sdk";

/** Registers the channel. The imports run only when the channel is on. */
export const contributor: Contributor = {
  id: "example",
  register: (registry) =>
    registry.addChannel({
      id: "example",
      label: "Example",
      config: async () => (await import("./config.ts")).exampleConfig,
      adapter: async () => (await import("./index.ts")).example,
      setup: {
        flags: [
          {
            name: "token",
            usage: "--token <token>",
            about: "the bot's token",
            key: "token",
            label: "Token",
            secret: { env: "EXAMPLE_TOKEN" },
            isRequired: true,
          },
          {
            name: "apiUrl",
            usage: "--api-url <url>",
            about: "address of the platform's API",
            key: "apiUrl",
            label: "API address",
            isRequired: true,
          },
        ],
      },
    }),
};
