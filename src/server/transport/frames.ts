import { z } from "zod";
import type { MethodError } from "../../types/method.ts";
import { Secret } from "../../types/secret.ts";
import { maskStrings } from "../../utils/secrets/mask-strings.ts";

export const PROTOCOL = 4;
/** Version 3 has the same frames; its deltas have the whole text, as those of version 4 do beside the new part. */
export const OLDEST_PROTOCOL = 3;
/** Most bytes of a frame before the handshake is done. */
export const MAX_FIRST_FRAME = 65_536;

export const CONNECTION_POLICY = {
  maxPayload: 26_214_400,
  maxBufferedBytes: 52_428_800,
  tickIntervalMs: 15_000,
  attachments: { maxBytes: 16_777_216, maxImageBytes: 8_388_608 },
} as const;

const requestFrame = z.object({
  type: z.literal("req"),
  id: z.string().min(1).max(256),
  method: z.string().min(1).max(256),
  params: z.unknown().optional(),
});
export type RequestFrame = z.infer<typeof requestFrame>;

/** An error in the form of the protocol. */
export interface ErrorShape {
  readonly code: string;
  readonly message: string;
  readonly details?: unknown;
  readonly retryable?: boolean;
  readonly retryAfterMs?: number;
}

export type FrameAnswer =
  | { readonly ok: true; readonly payload: unknown }
  | { readonly ok: false; readonly error: ErrorShape };

export type ParsedFrame =
  | { readonly kind: "request"; readonly frame: RequestFrame }
  | { readonly kind: "invalid"; readonly id: string; readonly error: ErrorShape };

/** Reads a frame. Never throws. An invalid frame keeps its id if it has one, so that the caller gets an answer. */
export function parseFrame(text: string): ParsedFrame {
  const json = parseJson(text);
  if (json === undefined) return invalid("invalid", "invalid frame: not JSON");
  const parsed = requestFrame.safeParse(json);
  if (parsed.success) return { kind: "request", frame: parsed.data };
  return invalid(idOf(json), `invalid request frame: ${problemsOf(parsed.error)}`);
}

function invalid(id: string, message: string): ParsedFrame {
  return { kind: "invalid", id, error: { code: "INVALID_REQUEST", message } };
}

function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    // The caller reports the frame as invalid.
    return undefined;
  }
}

function idOf(json: unknown): string {
  const parsed = z.object({ id: z.string().min(1).max(256) }).safeParse(json);
  return parsed.success ? parsed.data.id : "invalid";
}

/** Says in one line which fields are wrong and how. */
export function problemsOf(error: z.ZodError): string {
  return error.issues
    .slice(0, 5)
    .map((issue) => (issue.path.length === 0 ? issue.message : `${issue.path.join(".")}: ${issue.message}`))
    .join("; ");
}

export function encodeAnswer(id: string, answer: FrameAnswer): string {
  return JSON.stringify({ type: "res", id, ...answer });
}

/** Kinds of errors for which the protocol has one code, that of requests which cannot be served as they are. */
const KINDS: ReadonlySet<string> = new Set(["NOT_FOUND", "CONFLICT"]);

export function errorShape(error: MethodError): ErrorShape {
  const isKind = KINDS.has(error.code);
  const details = isKind ? { ...error.details, kind: error.code } : error.details;
  return {
    code: isKind ? "INVALID_REQUEST" : error.code,
    message: Secret.mask(error.message),
    ...(details === undefined ? {} : { details: maskStrings(details) }),
    ...(error.retryAfterMs === undefined ? {} : { retryable: true, retryAfterMs: error.retryAfterMs }),
  };
}
