import type { FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../../types/clock.ts";

/** What is taken of an unwanted body, so that a client that is still sending can read its answer before the end. */
const MOST_BYTES = 262_144;
const MOST_MS = 500;

interface Refusal {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Answers at once a request whose body nobody wants, and closes its connection instead of reading the body. */
export function refuseUnread(request: FastifyRequest, reply: FastifyReply, refusal: Refusal, clock: Clock): void {
  const { raw } = reply;
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value);
  const { status, type, body } = refusal;
  raw.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body), connection: "close" });
  raw.write(body);
  endAfterRest(request, () => raw.end(), clock);
}

/** Calls `end` once, when the body is over, or too much of it came, or too late. */
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
