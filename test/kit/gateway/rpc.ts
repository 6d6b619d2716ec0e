import { randomUUID } from "node:crypto";
import { z } from "zod";
import { messageAnswers } from "../../../src/types/answers/messages.ts";
import { usageAnswers } from "../../../src/types/answers/usage.ts";
import { connectGateway, type GatewayClient } from "../../../src/app/cli/client.ts";
import { logTail } from "../../../src/types/gateway-status.ts";
import { Secret } from "../../../src/types/secret.ts";
import { sessionAnswers } from "../../../src/types/session.ts";
import { sessionHits } from "../../../src/types/subagent/search.ts";
import { PATIENCE_MS, type GatewayUnderTest, type Home } from "./process.ts";

/** Shapes that methods state for their answers; the command line checks the answers of the methods that it calls. */
const RESULTS: Readonly<Record<string, z.ZodType>> = {
  "chat.history": sessionAnswers.history,
  "logs.tail": logTail,
  "sessions.describe": sessionAnswers.describe,
  "sessions.list": sessionAnswers.list,
  "sessions.queue": messageAnswers.queue,
  "sessions.search": sessionHits,
  "sessions.usage": usageAnswers.sessions,
};

/** Throws when the answer of a method does not have the shape that the method states. */
export const checkAnswer = (method: string, answer: unknown): unknown => RESULTS[method]?.parse(answer);

/** Calls a method of a running gateway once, as the operator. Rejects with the gateway's error. */
export const call = (gateway: GatewayUnderTest, method: string, params: object = {}): Promise<unknown> =>
  connected(gateway, async (client) => {
    const answer = await client.call(method, params, z.unknown());
    checkAnswer(method, answer);
    return answer;
  });

async function connected<T>({ port, token }: GatewayUnderTest, use: (client: GatewayClient) => Promise<T>): Promise<T> {
  const url = `ws://127.0.0.1:${port}`;
  const client = await connectGateway({ url, token: new Secret(token), isElsewhere: false }, PATIENCE_MS);
  try {
    return await use(client);
  } finally {
    client.close();
  }
}

const started = z.looseObject({ runId: z.string() });
const ended = z.looseObject({ text: z.string().optional(), error: z.string().optional() });

/** Says something to the agent of the home's gateway, as `openclaw agent` does in a process of its own. Gives the answer, or the error. */
export async function ask({ latest }: Home, message: string): Promise<string> {
  if (!latest) throw new Error("no gateway was started");
  return connected(latest, async (client) => {
    const { runId } = await client.call("agent", { message, idempotencyKey: randomUUID() }, started);
    const { text = "", error } = await client.call("agent.wait", { runId, timeoutMs: PATIENCE_MS }, ended, PATIENCE_MS);
    return text === "" && error !== undefined ? error : text;
  });
}
