import { GatewayClient } from "@openclaw/gateway-client";
import OpenAI from "openai";
import { expect } from "vitest";
import { z } from "zod";
import { Feed } from "../../../src/utils/feed.ts";

const chatEvent = z.looseObject({
  runId: z.string(),
  seq: z.number(),
  state: z.enum(["status", "delta", "final", "aborted", "error"]),
  deltaText: z.string().optional(),
  replace: z.boolean().optional(),
  errorMessage: z.string().optional(),
  message: z
    .looseObject({ role: z.string(), content: z.array(z.looseObject({ type: z.string(), text: z.string() })) })
    .optional(),
});
type ChatEvent = z.infer<typeof chatEvent>;

const historyAnswer = z.looseObject({
  sessionId: z.string(),
  messages: z.array(
    z.looseObject({ role: z.string(), content: z.unknown(), __openclaw: z.looseObject({ id: z.string() }) }),
  ),
});

export interface ChatTold {
  /** What a client that adds up `deltaText` shows at the end. */
  readonly added: string;
  readonly deltas: number;
  readonly final: string;
  readonly gaps: number;
  readonly history: z.infer<typeof historyAnswer>["messages"];
}

/** The reference client says `message` and reads the answer twice: as it comes, and from the history. */
export async function chatWithReferenceClient(url: string, token: string, message: string): Promise<ChatTold> {
  const feed = new Feed<ChatEvent>();
  let gaps = 0;
  const connected = Promise.withResolvers<void>();
  const client = new GatewayClient({
    url,
    token,
    onHelloOk: () => connected.resolve(),
    onConnectError: (error) => connected.reject(error),
    onEvent: (event) => {
      if (event.event === "chat") feed.publish(chatEvent.parse(event.payload));
    },
    onGap: () => {
      gaps += 1;
    },
  });
  client.start();
  try {
    await connected.promise;
    const events = feed.watch();
    const idempotencyKey = crypto.randomUUID();
    const sent: unknown = await client.request("chat.send", { sessionKey: "main", message, idempotencyKey });
    expect(sent).toMatchObject({ runId: idempotencyKey, status: "started" });
    const told = await readRun(events, idempotencyKey);
    const history = historyAnswer.parse(await client.request("chat.history", { sessionKey: "main", limit: 50 }));
    return { ...told, gaps, history: history.messages };
  } finally {
    client.stop();
    feed.close();
  }
}

async function readRun(events: AsyncIterable<ChatEvent>, runId: string) {
  let added = "";
  let deltas = 0;
  let lastSeq = -1;
  for await (const event of events) {
    if (event.runId !== runId) continue;
    expect(event.seq).toBeGreaterThan(lastSeq);
    lastSeq = event.seq;
    if (event.state === "delta") {
      deltas += 1;
      added = event.replace === true ? (event.deltaText ?? "") : added + (event.deltaText ?? "");
      expect(textOf(event)).toBe(added);
    }
    if (event.state === "final") return { added, deltas, final: textOf(event) };
    if (event.state === "error" || event.state === "aborted") throw new Error(event.errorMessage ?? event.state);
  }
  throw new Error("the connection ended before the run did");
}

const textOf = (event: ChatEvent) => event.message?.content.map((part) => part.text).join("") ?? "";

const openAi = (baseUrl: string, token: string) =>
  new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey: token, maxRetries: 0 });

/** The official client asks once and reads the whole answer. `baseUrl` is `http://host:port`. */
export async function askWithOpenAi(baseUrl: string, token: string, message: string) {
  const completion = await openAi(baseUrl, token).chat.completions.create({
    model: "openclaw",
    messages: [{ role: "user", content: message }],
  });
  const [choice] = completion.choices;
  return { text: choice?.message.content, finish: choice?.finish_reason, usage: completion.usage };
}

/** The official client reads the answer as it comes. */
export async function streamWithOpenAi(baseUrl: string, token: string, message: string) {
  const stream = await openAi(baseUrl, token).chat.completions.create({
    model: "openclaw",
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: message },
    ],
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = "";
  let finish: string | null = null;
  let usage: OpenAI.CompletionUsage | undefined;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? "";
    finish = chunk.choices[0]?.finish_reason ?? finish;
    usage = chunk.usage ?? usage;
  }
  return { text, finish, usage };
}

export async function listModelsWithOpenAi(baseUrl: string, token: string): Promise<readonly string[]> {
  const models = await openAi(baseUrl, token).models.list();
  return models.data.map((model) => model.id);
}
