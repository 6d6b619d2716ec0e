import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { open, type FileHandle } from "node:fs/promises";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { mediaIdIn } from "../types/chat/sent-files.ts";
import type { Clock } from "../types/clock.ts";
import { mediaId } from "../types/ids.ts";
import type { MediaStore } from "../types/journal.ts";
import { ifKept } from "../store/media.ts";
import { READ_NO_FOLLOW, readBytes } from "../utils/read-regular.ts";
import type { ServerPorts } from "./options.ts";
import type { AuthGate } from "./transport/auth.ts";
import { judgeRequest, refuseText } from "./transport/judge.ts";

/** Bytes in which the type of a file shows itself. */
const HEAD = 65_536;
const TICKET_MS = 300_000;

/** Types that browsers show or play and that cannot contain a program; every other file is only saved. */
const SHOWN = /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp)|audio\/[\w.+-]+|video\/[\w.+-]+)$/;

/** A document of these bytes, wherever it is opened, has no program, no address of its own and no other files. */
const NO_PROGRAM = "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox";

type Ports = { readonly media: Pick<MediaStore, "path" | "typeOf"> } & Pick<ServerPorts, "clock">;

/**
 * Serves the files that people sent and that answers brought, by their address in messages: `?source=media://inbound/…`. A caller
 * needs the gateway's token, or the ticket for this file that `&meta=1` gave to a caller with the token, for elements such as
 * `<audio>` which send no header.
 */
export function serveMedia(app: FastifyInstance, basePath: string, { media, clock }: Ports, gate: AuthGate): void {
  const tickets = new Tickets(clock);
  app.get(`${basePath}/__openclaw__/assistant-media`, { exposeHeadRoute: false }, async (request, reply) => {
    const { searchParams: asked } = new URL(request.url, "http://gateway");
    const source = asked.get("source") ?? "";
    const ticket = asked.get("mediaTicket");
    const isMeta = asked.get("meta") === "1";
    void reply.headers({ "cache-control": "private, no-store", "content-security-policy": NO_PROGRAM });
    if (isMeta || ticket === null) {
      const verdict = judgeRequest(request, gate);
      if (verdict.kind !== "ok") return refuseText(reply.type("text/plain; charset=utf-8"), verdict);
    } else if (!tickets.isFor(source, ticket)) return sendGone(reply);
    const file = await openStored(source, media);
    if (isMeta) return sendFacts(reply, { file, source, tickets });
    return file ? sendStored(request, reply, file) : sendGone(reply);
  });
}

interface Stored {
  readonly handle: FileHandle;
  readonly name: string;
  readonly mime: string;
  readonly size: number;
}

/** Undefined when the address names no file, or the file is gone. */
async function openStored(source: string, media: Ports["media"]): Promise<Stored | undefined> {
  const id = mediaIdIn(source);
  const handle = id && (await ifKept(() => open(media.path(mediaId(id)), READ_NO_FOLLOW)));
  if (!id || !handle) return undefined;
  try {
    const facts = await handle.stat();
    if (facts.isFile()) {
      const mime = await media.typeOf(await readBytes(handle, Math.min(HEAD, facts.size)), { name: id });
      return { handle, name: nameIn(id), mime, size: facts.size };
    }
  } catch (error) {
    await handle.close();
    throw error;
  }
  await handle.close();
  return undefined;
}

/** The sender's name of a file without the random part of its id. */
function nameIn(id: string): string {
  const name = id.replace(/^[a-z0-9]{26}-?/, "");
  return name.startsWith(".") ? `file${name}` : name;
}

async function sendFacts(
  reply: FastifyReply,
  { file, source, tickets }: { file: Stored | undefined; source: string; tickets: Tickets },
): Promise<FastifyReply> {
  await file?.handle.close();
  if (!file) return reply.send({ available: false, code: "file-not-found", reason: "File not found" });
  return reply.send({ available: true, mimeType: file.mime, sizeBytes: file.size, ...tickets.give(source) });
}

async function sendStored(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { handle, name, mime, size }: Stored,
): Promise<FastifyReply> {
  const isShown = SHOWN.test(mime);
  void reply.type(isShown ? mime : "application/octet-stream").headers({
    "accept-ranges": "bytes",
    "content-disposition": `${isShown ? "inline" : "attachment"}; ${fileNameFields(name)}`,
  });
  const range = rangeIn(headers.range, size);
  if (range === "none" || size === 0) {
    await handle.close();
    if (range === "none") return reply.code(416).header("content-range", `bytes */${size}`).send();
    return reply.header("content-length", size).send();
  }
  const { start, end } = range;
  const isPart = end - start + 1 < size;
  if (isPart) void reply.code(206).header("content-range", `bytes ${start}-${end}/${size}`);
  // The stream closes the file.
  return reply.header("content-length", end - start + 1).send(handle.createReadStream({ start, end }));
}

/** The part of a file that a request asks for; a request for several parts, or for none that can be read, gets the whole. */
function rangeIn(header: string | undefined, size: number): { readonly start: number; readonly end: number } | "none" {
  const whole = { start: 0, end: size - 1 };
  const [, from = "", to = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "") ?? [];
  if ((from === "" && to === "") || size === 0) return whole;
  if (from === "") return { start: Math.max(0, size - Number(to)), end: size - 1 };
  const start = Number(from);
  const end = to === "" ? size - 1 : Math.min(Number(to), size - 1);
  if (start >= size) return "none";
  return end < start ? whole : { start, end };
}

/** The name in ASCII for old clients, and as it is. */
function fileNameFields(name: string): string {
  const plain = name.replaceAll(/[^\w.-]/g, "_");
  const whole = encodeURIComponent(name).replaceAll(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
  return `filename="${plain}"; filename*=UTF-8''${whole}`;
}

const sendGone = (reply: FastifyReply): FastifyReply =>
  reply.code(404).type("text/plain; charset=utf-8").send("This file is not kept any more.\n");

const ticketFacts = z.object({ source: z.string(), exp: z.number() });

/** Permissions to read one file for a short time, valid until the gateway stops. */
class Tickets {
  readonly #clock: Clock;
  readonly #key = randomBytes(32);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  give(source: string): { readonly mediaTicket: string; readonly mediaTicketExpiresAt: string } {
    const exp = this.#clock.now() + TICKET_MS;
    const facts = Buffer.from(JSON.stringify({ source, exp })).toString("base64url");
    return {
      mediaTicket: `v1.${facts}.${this.#sign(facts).toString("base64url")}`,
      mediaTicketExpiresAt: new Date(exp).toISOString(),
    };
  }

  isFor(source: string, ticket: string): boolean {
    const [version, facts = "", sign = ""] = ticket.split(".");
    const given = Buffer.from(sign, "base64url");
    const expected = this.#sign(facts);
    if (version !== "v1" || given.length !== expected.length || !timingSafeEqual(given, expected)) return false;
    const { source: of, exp } = ticketFacts.parse(JSON.parse(Buffer.from(facts, "base64url").toString("utf8")));
    return of === source && exp > this.#clock.now();
  }

  #sign(facts: string): Buffer {
    return createHmac("sha256", this.#key).update(facts).digest();
  }
}
