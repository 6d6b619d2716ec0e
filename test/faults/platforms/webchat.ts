import { z } from "zod";
import { RawClient } from "../../kit/server/server.ts";
import type { KilledPlatform } from "./platform.ts";

const SESSIONS = ["agent:main:left", "agent:main:right"] as const;
const part = z.looseObject({ text: z.string().optional() });
const content = z.union([z.string(), z.array(part)]);
const said = z.looseObject({ role: z.string().optional(), content: content.optional() });
const chatEvent = z.looseObject({
  event: z.literal("chat"),
  payload: z.looseObject({ state: z.string(), message: said.optional() }),
});
const history = z.looseObject({ payload: z.looseObject({ messages: z.array(said) }) });
const answered = z.looseObject({ ok: z.literal(true) });

function textIn(message: z.output<typeof said> | undefined): string {
  const inside = message?.content ?? "";
  return typeof inside === "string" ? inside : inside.map(({ text = "" }) => text).join("");
}

/** A page that keeps what it sent until the gateway has answered, and sends it again once it is connected anew. */
export async function killedWebchat(): Promise<KilledPlatform> {
  const unanswered = new Map<string, { readonly sessionKey: string; readonly message: string }>();
  const listeners: ((text: string) => void)[] = [];
  let client: RawClient | undefined;
  let isDeaf = false;
  let count = 0;

  async function send(idempotencyKey: string): Promise<void> {
    const answer = await client?.request("chat.send", { ...unanswered.get(idempotencyKey), idempotencyKey });
    if (isDeaf) return;
    answered.parse(answer);
    unanswered.delete(idempotencyKey);
  }

  function listen(opened: RawClient): void {
    opened.socket.on("message", (data: Buffer) => {
      const { data: event } = chatEvent.safeParse(JSON.parse(data.toString("utf8")));
      if (event) for (const listener of listeners) listener(textIn(event.payload.message));
    });
  }

  return {
    id: "webchat",
    async started({ port, token }) {
      client?.close();
      client = new RawClient(`ws://127.0.0.1:${port}`);
      answered.parse(await client.connect({ auth: { token } }));
      listen(client);
      for (const key of unanswered.keys()) void send(key);
    },
    isListening: () => client?.socket.readyState === WebSocket.OPEN,
    say(chat, message) {
      const key = `web-${(count += 1)}`;
      unanswered.set(key, { sessionKey: SESSIONS[chat], message });
      void send(key);
    },
    async shown(chat) {
      const { payload } = history.parse(await client?.request("chat.history", { sessionKey: SESSIONS[chat] }));
      return payload.messages
        .filter(({ role }) => role === "assistant")
        .map(textIn)
        .filter((text) => text !== "");
    },
    unacknowledged: () => unanswered.size,
    onShown: (listener) => void listeners.push(listener),
    deafen: () => void (isDeaf = true),
    reconnect: () => void (isDeaf = false),
    close: async () => client?.close(),
  };
}
