import type { z } from "zod";
import { findGateway, type GatewayFlags } from "./address.ts";
import { connectGateway, type GatewayClient } from "./client.ts";
import type { Io } from "./io.ts";
import { startProgress } from "./progress.ts";
import type { State } from "./state.ts";

interface CallOptions {
  readonly flags?: GatewayFlags;
  readonly timeoutMs?: number | undefined;
  /** The work shows its own progress. */
  readonly isQuiet?: boolean;
}

/** Connects for as long as the work takes; throws what `connectGateway` and the work throw. */
export async function withGateway<T>(
  io: Io,
  state: State,
  work: (client: GatewayClient) => Promise<T>,
  options: CallOptions = {},
): Promise<T> {
  const progress = options.isQuiet === true ? undefined : startProgress(io, "Asking the gateway");
  try {
    const client = await connectGateway(await findGateway(io, state, options.flags), options.timeoutMs);
    try {
      return await work(client);
    } finally {
      client.close();
    }
  } finally {
    progress?.stop();
  }
}

/** One call on a separate connection. */
export function callOnce<T>(
  io: Io,
  state: State,
  call: { method: string; params?: object; shape: z.ZodType<T> },
  options: CallOptions = {},
): Promise<T> {
  const { method, params = {}, shape } = call;
  return withGateway(io, state, (client) => client.call(method, params, shape, options.timeoutMs), options);
}
