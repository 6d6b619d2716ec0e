import { answeredOutcome, backoff, channelId, OpenClawError, thrownOutcome, wait } from "openclaw/plugin-sdk";
import type { ChannelAdapter, ChannelHost, InboundMessage, OutboundPart, Peer } from "openclaw/plugin-sdk";
import type { SendOptions, SendResult } from "openclaw/plugin-sdk";
import { z } from "zod";
import { exampleConfig, type ExampleConfig } from "./config.ts";

const EXAMPLE = channelId("example");

const event = z.object({
  seq: z.number(),
  id: z.string(),
  chat: z.object({ kind: z.enum(["direct", "group"]), id: z.string() }),
  from: z.object({ id: z.string(), name: z.string() }),
  text: z.string(),
  mentionsBot: z.boolean(),
  replyTo: z.object({ id: z.string(), fromBot: z.boolean() }).optional(),
});
const eventList = z.object({ events: z.array(event) });
const sentMessage = z.object({ id: z.string() });

/** Calls the platform. Rejects when the connection fails or `signal` aborts. */
type Call = (path: string, body?: object) => Promise<Response>;

export const example: ChannelAdapter<ExampleConfig> = {
  id: EXAMPLE,
  label: "Example",
  limits: { text: 2000, format: "plain", media: 8 * 1_048_576 },
  config: exampleConfig,
  async connect(config, host) {
    const stop = new AbortController();
    const signal = AbortSignal.any([host.signal, stop.signal]);
    const call = callerFor(config, signal);
    await checkToken(call, host);
    const receiving = receive(call, host, signal);
    return {
      send: (to, part, options) => send(call, { to, part, options }),
      close: async () => {
        stop.abort();
        await receiving;
      },
    };
  },
};

function callerFor({ apiUrl, token }: ExampleConfig, signal: AbortSignal): Call {
  const headers = { authorization: `Bearer ${token.reveal()}`, "content-type": "application/json" };
  return (path, body) =>
    fetch(new URL(path, apiUrl), { headers, signal, ...(body && { method: "POST", body: JSON.stringify(body) }) });
}

/** An unreachable platform is no reason to throw: `receive` retries. A wrong token is, because only a person can mend it. */
async function checkToken(call: Call, host: ChannelHost): Promise<void> {
  const answer = await call("/me").catch(() => undefined);
  if (answer?.ok) host.report({ kind: "alive" });
  if (answer?.status !== 401) return;
  const message = "Example refused the token.";
  throw new OpenClawError("CHANNEL_AUTH", { message, fix: "Set channels.example.token to a valid token." });
}

/**
 * Polls until the signal aborts. The next poll acknowledges the events before it, so their number is noted only when they
 * are durable.
 */
async function receive(call: Call, host: ChannelHost, signal: AbortSignal): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    try {
      const after = (await host.notes.get("after")) ?? "0";
      const { events } = eventList.parse(await (await call(`/events?after=${after}`)).json());
      host.report({ kind: "alive" });
      await host.receive(events.map((one) => toInbound(one, host)));
      const last = events.at(-1);
      if (last) await host.notes.set("after", String(last.seq));
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      const retryInMs = backoff(failures++);
      host.report({ kind: "trouble", reason: error instanceof Error ? error.message : "unknown", retryInMs });
      await wait(retryInMs, signal);
    }
  }
}

function toInbound(one: z.output<typeof event>, { account }: ChannelHost): InboundMessage {
  return {
    id: one.id,
    eventKey: String(one.seq),
    from: { channel: EXAMPLE, account, chat: one.chat },
    sender: one.from,
    text: one.text,
    media: [],
    mentionsBot: one.chat.kind === "direct" || one.mentionsBot,
    ...(one.replyTo && { replyTo: one.replyTo }),
    receivedAt: Date.now(),
  };
}

interface Sending {
  readonly to: Peer;
  readonly part: OutboundPart;
  readonly options: SendOptions;
}

/** Never throws: the outbox needs to know what became of the message. */
async function send(call: Call, { to, part, options }: Sending): Promise<SendResult> {
  if (part.kind !== "text") return { kind: "refused", reason: "Example accepts no files" };
  const { idempotencyKey: key, replyTo } = options;
  try {
    const answer = await call("/messages", { key, chat: to.chat.id, text: part.body, replyTo });
    if (answer.ok) return { kind: "sent", messageId: sentMessage.parse(await answer.json()).id };
    const retryAfter = answer.headers.get("retry-after");
    return answeredOutcome({ status: answer.status, reason: `Example answered ${answer.status}`, retryAfter });
  } catch (error) {
    return thrownOutcome(error, "Example");
  }
}
