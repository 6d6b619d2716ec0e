import type { ServerResponse } from "node:http";

/** Aborts when the client disconnects, or has done so, before the answer is complete; the connection also closes after it. */
export function disconnectSignal(raw: ServerResponse): AbortSignal {
  const gone = new AbortController();
  raw.once("close", () => {
    if (!raw.writableFinished) gone.abort();
  });
  if (raw.destroyed) gone.abort();
  return gone.signal;
}
