import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

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

/** Serves the files of one folder, none below it: `/` is `index.html`. */
export function servePage(app: FastifyInstance, pageDir: string | undefined): void {
  app.get("/", (request, reply) => sendFile(request, reply, { pageDir, name: "index.html" }));
  app.get<{ Params: { file: string } }>("/:file", (request, reply) =>
    sendFile(request, reply, { pageDir, name: request.params.file }),
  );
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: { pageDir: string | undefined; name: string },
): Promise<FastifyReply> {
  const type = TYPES[path.extname(file.name)];
  const isPlainName = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(file.name);
  const isIndex = file.name === "index.html";
  const bytes = type !== undefined && isPlainName ? await readPageFile(file.pageDir, file.name) : undefined;
  if (bytes === undefined || type === undefined) {
    return reply
      .code(isIndex ? 503 : 404)
      .type("text/plain; charset=utf-8")
      .send(isIndex ? NO_PAGE : "Not found.\n");
  }
  const etag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
  reply.header("etag", etag).header("cache-control", "no-cache");
  if (request.headers["if-none-match"] === etag) return reply.code(304).send();
  return reply.type(type).send(bytes);
}

/** Undefined when it is not there: the folder may be built while the gateway runs. */
async function readPageFile(pageDir: string | undefined, name: string): Promise<Buffer | undefined> {
  if (pageDir === undefined) return undefined;
  return readFile(path.join(pageDir, name)).catch(() => undefined);
}
