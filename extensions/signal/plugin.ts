import type { Contributor } from "openclaw/plugin-sdk";

/** Registers Signal. */
export const contributor: Contributor = {
  id: "signal",
  register: (registry) =>
    registry.addChannel({
      id: "signal",
      label: "Signal",
      config: async () => (await import("./config.ts")).signalConfig,
      adapter: async () => (await import("./index.ts")).signal,
      setup: {
        flags: [
          {
            name: "signalNumber",
            usage: "--signal-number <e164>",
            about: "the phone number of the account",
            key: "account",
            label: "Phone number, such as +49301234567",
          },
          {
            name: "httpUrl",
            usage: "--http-url <url>",
            about: "the URL of a running signal-cli",
            key: "httpUrl",
            label: "URL of a running signal-cli (optional)",
          },
          {
            name: "cliPath",
            usage: "--cli-path <path>",
            about: "the signal-cli program",
            key: "cliPath",
            label: "The signal-cli program (optional)",
          },
        ],
      },
    }),
};
