import type { IncomingMessage } from "node:http";
import type { Clock } from "../../types/clock.ts";

interface BodyLimits {
  readonly mostBytes: number;
  readonly readMs: number;
}

/** Platforms send files by reference, so their requests have a few kilobytes. */
const PLATFORMS: BodyLimits = { mostBytes: 1_048_576, readMs: 10_000 };

export type ReadBody =
  | { readonly kind: "read"; readonly body: Uint8Array }
  | { readonly kind: "refused"; readonly status: 400 | 408 | 413 | 503 };

/**
 * Reads a request's body, at most 1 MB within ten seconds unless other limits are given. Refuses with 503 when
 * `evicted` aborts first. Never rejects.
 */
export function readBody(
  request: IncomingMessage,
  clock: Clock,
  evicted: AbortSignal,
  { mostBytes, readMs } = PLATFORMS,
): Promise<ReadBody> {
  if (Number(request.headers["content-length"] ?? 0) > mostBytes) return Promise.resolve(refused(413));
  const { promise, resolve } = Promise.withResolvers<ReadBody>();
  const chunks: Buffer[] = [];
  let size = 0;
  request.on("data", (chunk: Buffer) => {
    size += chunk.byteLength;
    if (size > mostBytes) resolve(refused(413));
    else chunks.push(chunk);
  });
  request.on("end", () => resolve({ kind: "read", body: Buffer.concat(chunks) }));
  request.on("error", () => resolve(refused(400)));
  request.on("close", () => resolve(refused(400)));
  evicted.addEventListener("abort", () => resolve(refused(503)), { once: true });
  const cancel = clock.after(readMs, () => resolve(refused(408)));
  return promise.finally(() => {
    cancel();
    request.removeAllListeners("data");
  });
}

const refused = (status: 400 | 408 | 413 | 503): ReadBody => ({ kind: "refused", status });
