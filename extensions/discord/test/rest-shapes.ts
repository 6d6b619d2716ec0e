import type { Json } from "./json.ts";

export interface Speaker {
  readonly from?: Json;
  readonly replyTo?: string;
  readonly files?: readonly { readonly name: string; readonly bytes: Uint8Array; readonly mime?: string }[];
  /** Dispatches no event for it. */
  readonly unheard?: boolean;
  readonly more?: Json;
}

export interface RestCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Json;
  readonly files: readonly { readonly name: string; readonly bytes: Uint8Array }[];
}

export interface RestResult {
  readonly status: number;
  readonly json?: unknown;
  readonly events?: readonly { readonly name: string; readonly data: unknown }[];
}

export const ok = (json: unknown): RestResult => ({ status: 200, json });
export const refusal = (status: number, code: number, message: string): RestResult => ({
  status,
  json: { message, code },
});
export const UNKNOWN_CHANNEL = refusal(404, 10_003, "Unknown Channel");
export const MAY_NOT_QUOTE = refusal(403, 160_002, "Cannot reply without permission to read message history");
export const UNKNOWN_MESSAGE = refusal(404, 10_008, "Unknown Message");
