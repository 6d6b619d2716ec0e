import type { FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../../types/clock.ts";

/** Most bytes read of an unwanted body: a client that is still sending must be able to read the answer. */
const MOST_BYTES = 262_144;
const MOST_MS = 500;

interface Refusal {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Refuses a request before its body was read, and closes the connection. */
export function refuseUnread(request: FastifyRequest, reply: FastifyReply, refusal: Refusal, clock: Clock): void {
  const { raw } = reply;
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value);
  const { status, type, body } = refusal;
  raw.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body), connection: "close" });
  raw.write(body);
  endAfterRest(request, () => raw.end(), clock);
}

/** Calls `end` once: after the body, after too many of its bytes, or after too long a time. */
function endAfterRest(request: FastifyRequest, end: () => void, clock: Clock): void {
  let bytes = 0;
  const over = (): void => {
    cancel();
    request.raw.off("data", count).off("end", over).off("close", over).pause();
    end();
  };
  const count = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) over();
  };
  const cancel = clock.after(MOST_MS, over);
  request.raw.on("data", count).on("end", over).on("close", over);
}
