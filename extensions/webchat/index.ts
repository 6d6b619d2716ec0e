import { channelId } from "openclaw/plugin-sdk";
import type {
  ChannelAdapter,
  ChannelHost,
  ChannelLink,
  OutboundPart,
  SendResult,
  WebNote,
  WebClientPort,
} from "openclaw/plugin-sdk";
import { webchatConfig, type WebchatConfig } from "./config.ts";
import { inboundOf } from "./inbound.ts";

/** The gateway treats a link as stalled after five minutes without a report. */
const ALIVE_EVERY_MS = 60_000;

/**
 * The channel of the gateway's own clients: page, WebSocket, HTTP and command line. The transcript delivers their answers; `send`
 * is for messages outside of runs.
 */
export function webchat(clients: WebClientPort): ChannelAdapter<WebchatConfig> {
  return {
    id: channelId("webchat"),
    label: "Web chat",
    limits: {
      text: 100_000,
      caption: { text: 100_000 },
      album: { files: 10 },
      format: "markdown",
      media: 50 * 1024 * 1024,
    },
    config: webchatConfig,
    connect: async (_config, host) => open(clients, host),
  };
}

function open(clients: WebClientPort, host: ChannelHost): ChannelLink {
  const closed = new AbortController();
  const signal = AbortSignal.any([closed.signal, host.signal]);
  clients.listen(async (message) => {
    try {
      await host.receive([inboundOf(message)]);
    } catch (error) {
      // The client receives the error and retries.
      host.report({ kind: "trouble", reason: errorText(error) });
      throw error;
    }
    host.report({ kind: "alive" });
  }, signal);
  host.report({ kind: "alive" });
  const timer = setInterval(() => host.report({ kind: "alive" }), ALIVE_EVERY_MS);
  timer.unref();
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  return {
    send: (to, part, { idempotencyKey }) => send(to.chat.id, part, { clients, host, key: idempotencyKey }),
    find: (to, _part, { idempotencyKey }) => clients.find(to.chat.id, idempotencyKey),
    close: async () => closed.abort(),
  };
}

async function send(
  chat: string,
  part: OutboundPart,
  { clients, host, key }: { clients: WebClientPort; host: ChannelHost; key: string },
): Promise<SendResult> {
  const note = noteOf(part);
  for (const item of note.media ?? []) {
    try {
      await host.openMedia(item);
    } catch (error) {
      return { kind: "refused", reason: `${item.name ?? "a file"}: ${errorText(error)}` };
    }
  }
  return clients.write(chat, note, key);
}

const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function noteOf(part: OutboundPart): WebNote {
  if (part.kind === "text") return { text: part.body };
  return { text: part.caption?.body ?? "", media: [part.media, ...(part.more ?? [])] };
}
