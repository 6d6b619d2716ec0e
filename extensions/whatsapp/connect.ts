import { OpenClawError } from "openclaw/plugin-sdk";
import type { ChannelHost, ChannelLink } from "openclaw/plugin-sdk";
import { openAuth } from "./link/auth.ts";
import { loadBaileys } from "./baileys.ts";
import type { WhatsAppConfig } from "./config.ts";
import { AccountConnection } from "./link/connection.ts";
import { download } from "./inbound/media.ts";
import { createSender } from "./send.ts";

/** Connects a linked account. Throws `OpenClawError` when it is not linked, or WhatsApp has ended the link. */
export async function connect(config: WhatsAppConfig, host: ChannelHost): Promise<ChannelLink> {
  const baileys = await loadBaileys(host);
  const auth = await openAuth(await host.folder(), baileys, host.log);
  if (!auth.creds.me) {
    auth.close();
    throw notLinked();
  }
  const connection = new AccountConnection({ baileys, auth, config, host });
  try {
    await connection.start();
  } catch (error) {
    await connection.close();
    throw error;
  }
  return {
    ...createSender({ connection, config, host, sentAt: (id) => auth.keptAt(id) }),
    download: (item) => download(host, config, item),
    close: () => connection.close(),
  };
}

const notLinked = (): OpenClawError =>
  new OpenClawError("CHANNEL_AUTH", {
    message: "This WhatsApp account is not linked yet.",
    fix: "Link it with the phone: `openclaw channels login whatsapp`.",
  });
