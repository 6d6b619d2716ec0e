import type * as BaileysModule from "@whiskeysockets/baileys";
import type { ChannelHost } from "openclaw/plugin-sdk";

export type Baileys = typeof BaileysModule;

const NAME = "@whiskeysockets/baileys";

/**
 * Loads the installed Baileys (a clone has it), else the copy that the host fetches. Baileys is not part of the
 * package, because its code for Signal's protocol is under the GPL. Throws the errors of `ChannelHost.library`.
 */
export async function loadBaileys({ library }: Pick<ChannelHost, "library">): Promise<Baileys> {
  try {
    return await import("@whiskeysockets/baileys");
  } catch (error) {
    if (!isNotThere(error)) throw error;
  }
  const fetched: Baileys = await import(await library(NAME));
  return fetched;
}

/** Whether Baileys is not installed, as opposed to installed and broken. */
const isNotThere = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND" && error.message.includes(NAME);
