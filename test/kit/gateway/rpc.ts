import { z } from "zod";
import { connectGateway } from "../../../src/app/cli/client.ts";
import { Secret } from "../../../src/types/secret.ts";
import type { GatewayUnderTest } from "./process.ts";

/** Calls a method of a running gateway once, as the operator. Rejects with the gateway's error. */
export async function call(gateway: GatewayUnderTest, method: string, params: object = {}): Promise<unknown> {
  const url = `ws://127.0.0.1:${gateway.port}`;
  const client = await connectGateway({ url, token: new Secret(gateway.token), isElsewhere: false });
  try {
    return await client.call(method, params, z.unknown());
  } finally {
    client.close();
  }
}
