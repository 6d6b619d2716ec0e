import { randomUUID } from "node:crypto";
import { z } from "zod";
import { connectGateway, type GatewayClient } from "../../../src/app/cli/client.ts";
import { Secret } from "../../../src/types/secret.ts";
import { PATIENCE_MS, type GatewayUnderTest, type Home } from "./process.ts";

/** Calls a method of a running gateway once, as the operator. Rejects with the gateway's error. */
export const call = (gateway: GatewayUnderTest, method: string, params: object = {}): Promise<unknown> =>
  connected(gateway, (client) => client.call(method, params, z.unknown()));

async function connected<T>({ port, token }: GatewayUnderTest, use: (client: GatewayClient) => Promise<T>): Promise<T> {
  const url = `ws://127.0.0.1:${port}`;
  const client = await connectGateway({ url, token: new Secret(token), isElsewhere: false });
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
