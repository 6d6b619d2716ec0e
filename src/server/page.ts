import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { forgetOldest } from "../utils/forget-oldest.ts";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".webmanifest": "application/manifest+json",
};

const NO_PAGE =
  "There is no page here. Either it is not built (run `npm run build` in the gateway's folder, then start it again), " +
  "or gateway.controlUi.enabled is false.\n";

/** Serves the files of one folder, without its subfolders; `/` is `index.html`. */
export function servePage(app: FastifyInstance, pageDir: string | undefined): void {
  const folder = { pageDir, gzips: new Gzips() };
  app.get("/", (request, reply) => sendFile(request, reply, { ...folder, name: "index.html" }));
  app.get<{ Params: { file: string } }>("/:file", (request, reply) =>
    sendFile(request, reply, { ...folder, name: request.params.file }),
  );
}

interface PageFile {
  readonly pageDir: string | undefined;
  readonly gzips: Gzips;
  readonly name: string;
}

async function sendFile(request: FastifyRequest, reply: FastifyReply, file: PageFile): Promise<FastifyReply> {
  const type = TYPES[path.extname(file.name)];
  const isPlainName = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(file.name);
  const bytes = type !== undefined && isPlainName ? await readPageFile(file.pageDir, file.name) : undefined;
  if (bytes === undefined || type === undefined) return sendMissing(reply, file.name === "index.html");
  const etag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
  reply.type(type).headers({ etag, "cache-control": "no-cache", vary: "accept-encoding" });
  if (request.headers["if-none-match"] === etag) return reply.code(304).send();
  const takesGzip = /\bgzip\b/.test(request.headers["accept-encoding"] ?? "");
  if (!takesGzip || !COMPRESSIBLE.test(type)) return reply.send(bytes);
  return reply.header("content-encoding", "gzip").send(await file.gzips.of(etag, bytes));
}

function sendMissing(reply: FastifyReply, isIndex: boolean): FastifyReply {
  return reply
    .code(isIndex ? 503 : 404)
    .type("text/plain; charset=utf-8")
    .send(isIndex ? NO_PAGE : "Not found.\n");
}

const COMPRESSIBLE = /^text\/|svg|json/;
const MAX_GZIPS = 32;
const compress = promisify(gzip);

/** Compresses each content once. Forgets the oldest when the page was rebuilt often. */
class Gzips {
  readonly #known = new Map<string, Buffer>();

  async of(etag: string, bytes: Buffer): Promise<Buffer> {
    const small = this.#known.get(etag) ?? (await compress(bytes));
    this.#known.set(etag, small);
    forgetOldest(this.#known, MAX_GZIPS);
    return small;
  }
}

/** Undefined when the file is missing. Not cached, since the page may be built while the gateway runs. */
async function readPageFile(pageDir: string | undefined, name: string): Promise<Buffer | undefined> {
  if (pageDir === undefined) return undefined;
  return readFile(path.join(pageDir, name)).catch(() => undefined);
}
