import type { ChannelAdapter } from "openclaw/plugin-sdk";
import { WHATSAPP, whatsappConfig } from "./config.ts";
import type { WhatsAppConfig } from "./config.ts";

export { whatsappAccounts, whatsappConfig } from "./config.ts";
export type { WhatsAppConfig } from "./config.ts";

/** WhatsApp as a linked device of a phone. The first connection fetches and loads Baileys. */
export const whatsapp: ChannelAdapter<WhatsAppConfig> = {
  id: WHATSAPP,
  label: "WhatsApp",
  // Meta documents 4,096 characters for a text and 100 MB for the largest kind of file (Cloud API, messages and media).
  limits: {
    text: 4096,
    format: "whatsapp",
    media: 100 * 1_048_576,
    editEveryMs: 2500,
    // The same documentation limits a caption to 1,024; audio and stickers have none.
    caption: { text: 1024, not: ["audio", "voice", "sticker"] },
  },
  config: whatsappConfig,
  async connect(config, host) {
    const { connect } = await import("./connect.ts");
    return connect(config, host);
  },
  async login(config, host) {
    const { login } = await import("./link/login.ts");
    return login(config, host);
  },
  async logout(config, host) {
    const { logout } = await import("./link/login.ts");
    return logout(config, host);
  },
};
