import type { Contributor } from "openclaw/plugin-sdk";

/** Registers WhatsApp. An account needs no config keys: a person links it afterwards. */
export const contributor: Contributor = {
  id: "whatsapp",
  register: (registry) =>
    registry.addChannel({
      id: "whatsapp",
      label: "WhatsApp",
      config: async () => (await import("./config.ts")).whatsappConfig,
      adapter: async () => (await import("./index.ts")).whatsapp,
      setup: { flags: [] },
    }),
};
