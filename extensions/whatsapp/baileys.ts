import type * as BaileysModule from "@whiskeysockets/baileys";
import { OpenClawError } from "openclaw/plugin-sdk";

export type Baileys = typeof BaileysModule;

/** The library is an optional dependency. Throws `CHANNEL_CONFIG` where it is missing. */
export async function loadBaileys(): Promise<Baileys> {
  try {
    return await import("@whiskeysockets/baileys");
  } catch (cause) {
    throw new OpenClawError("CHANNEL_CONFIG", {
      message: "WhatsApp needs the package @whiskeysockets/baileys, which is not installed.",
      fix: "Run `npm install @whiskeysockets/baileys@7.0.0-rc14` where OpenClaw is installed, then start it again.",
      cause,
    });
  }
}
