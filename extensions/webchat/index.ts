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

/** The gateway calls a link deaf after five minutes without a sign of life. */
const ALIVE_EVERY_MS = 60_000;

/**
 * The gateway's own clients: page, WebSocket, HTTP and command line. Answers of runs are no sends here, since the transcript
 * is their delivery; what is sent is what somebody says beside them.
 */
export function webchat(room: WebClientPort): ChannelAdapter<WebchatConfig> {
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
    connect: async (_config, host) => open(room, host),
  };
}

function open(room: WebClientPort, host: ChannelHost): ChannelLink {
  const closed = new AbortController();
  const signal = AbortSignal.any([closed.signal, host.signal]);
  room.listen(async (said) => {
    try {
      await host.receive([inboundOf(said)]);
    } catch (error) {
      // Who asked hears of it and asks again.
      host.report({ kind: "trouble", reason: wordsOf(error) });
      throw error;
    }
    host.report({ kind: "alive" });
  }, signal);
  host.report({ kind: "alive" });
  const timer = setInterval(() => host.report({ kind: "alive" }), ALIVE_EVERY_MS);
  timer.unref();
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  return {
    send: (to, part, { idempotencyKey }) => send(to.chat.id, part, { room, host, key: idempotencyKey }),
    find: (to, _part, { idempotencyKey }) => room.find(to.chat.id, idempotencyKey),
    close: async () => closed.abort(),
  };
}

async function send(
  chat: string,
  part: OutboundPart,
  { room, host, key }: { room: WebClientPort; host: ChannelHost; key: string },
): Promise<SendResult> {
  const note = noteOf(part);
  for (const item of note.media ?? []) {
    try {
      await host.openMedia(item);
    } catch (error) {
      return { kind: "refused", reason: `${item.name ?? "a file"}: ${wordsOf(error)}` };
    }
  }
  return room.write(chat, note, key);
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function noteOf(part: OutboundPart): WebNote {
  if (part.kind === "text") return { text: part.body };
  return { text: part.caption?.body ?? "", media: [part.media, ...(part.more ?? [])] };
}
