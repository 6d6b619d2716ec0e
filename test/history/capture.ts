import { parentPort } from "node:worker_threads";
import { type Api, type Context, type Model, type SimpleStreamOptions, streamSimple } from "@mariozechner/pi-ai";

import { withPayload } from "../../src/providers/call/payload.ts";

/** One request to be made. */
export interface Order {
  readonly model: Model<Api>;
  readonly context: Context;
  readonly options: SimpleStreamOptions;
}

/** What would have been sent, or why nothing would. */
export type Captured = { readonly request: unknown } | { readonly failure: string };

const CAPTURED = "captured";

async function capture({ model, context, options }: Order): Promise<Captured> {
  let request: unknown;
  const payload = withPayload(model, context, {});
  const stream = streamSimple(model, payload.context, {
    ...options,
    onPayload: async (body, of) => {
      request = (await payload.options.onPayload?.(body, of)) ?? body;
      throw new Error(CAPTURED);
    },
  });
  const { errorMessage = "nothing sent" } = await stream.result();
  return request === undefined || !errorMessage.includes(CAPTURED) ? { failure: errorMessage } : { request };
}

const failed = (error: unknown): Captured => ({ failure: String(error) });

parentPort?.on("message", (order: Order) => {
  void capture(order)
    .catch(failed)
    // Symbols and functions of a payload are not sent either.
    .then((captured) => parentPort?.postMessage(captured));
});
