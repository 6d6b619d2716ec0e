import { createHash } from "node:crypto";
import { realpath, stat } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { forgetOldest } from "../utils/forget-oldest.ts";
import { readRegular } from "../utils/read-regular.ts";
import { isInside } from "../utils/real-path.ts";
import { controlUiPolicy, pagePolicy } from "./page-policy.ts";
import type { PageOptions } from "./options.ts";

/** The types of files that are served; a file of another kind is not. */
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".wasm": "application/wasm",
  ".webmanifest": "application/manifest+json; charset=utf-8",
};

const INDEX = "index.html";
const LARGEST = 64 * 1_048_576;

const NO_PAGE =
  "There is no page here. Either it is not built (run `npm run build` in the gateway's folder, then start it again), " +
  "or gateway.controlUi.enabled is false.\n";
const NO_CONTROL_UI =
  "The folder of gateway.controlUi.root has no index.html. `openclaw doctor` names the folder and what to do.\n";

/**
 * Serves the files of a folder and of its subfolders below the page's base path, which itself leads to the page. A Control UI
 * has addresses of its own, such as `/chat/main`: a browser that opens one gets `index.html`.
 */
export function servePage(app: FastifyInstance, page: PageOptions | undefined): void {
  if (page === undefined) {
    app.get("/", (_request, reply) => sendText(reply, 503, NO_PAGE));
    return;
  }
  const { basePath } = page;
  const gzips = new Gzips();
  const send = (request: FastifyRequest, reply: FastifyReply) => sendPath(request, reply, { ...page, gzips });
  if (basePath !== "")
    app.get(basePath, (request, reply) => reply.redirect(`${basePath}/${queryOf(request.url)}`, 302));
  app.get(`${basePath}/`, send);
  app.get(`${basePath}/*`, send);
}

type Served = PageOptions & { readonly gzips: Gzips };

async function sendPath(request: FastifyRequest, reply: FastifyReply, page: Served): Promise<FastifyReply> {
  const [address = "/"] = request.url.split("?");
  const below = address.slice(page.basePath.length + 1);
  if (page.isControlUi && below === "control-ui-config.json") return sendConfig(reply, page);
  const name = below === "" ? INDEX : plainName(below);
  const found = name === undefined ? undefined : await readBelow(page.dir, name);
  if (found !== undefined && name !== INDEX) return sendFile(request, reply, found, page.gzips);
  if (found === undefined && (name === undefined || !isAddress(below, request, page)))
    return sendMissing(reply, name, page);
  const index = found ?? (await readBelow(page.dir, INDEX));
  return index ? sendIndex(request, reply, index, page) : sendMissing(reply, INDEX, page);
}

/** The name in the folder, decoded; undefined for one with hidden files, `..` or other signs that mean something to the system. */
function plainName(below: string): string | undefined {
  let name: string;
  try {
    name = decodeURIComponent(below);
  } catch {
    return undefined;
  }
  // oxlint-disable-next-line no-control-regex -- they are refused
  const isPlain = !/[\0-\x1f\\:]/u.test(name) && name.split("/").every((part) => part !== "" && !part.startsWith("."));
  return isPlain ? name : undefined;
}

/** Paths of Control UIs that are no pages: their pictures and files, which this gateway has not, and other programs' calls. */
const NO_ADDRESS = /^(__openclaw(__)?|avatar|api|v1|tools|j|ui|plugins\/[^/]+\/.+)(\/|$)/;

const isFileName = (name: string): boolean =>
  /\.(map|gz|br)$/.test(name) || TYPES[path.extname(name).toLowerCase()] !== undefined;

/** Whether the path is an address inside of the Control UI that a browser opens. */
function isAddress(below: string, { headers }: FastifyRequest, { isControlUi }: PageOptions): boolean {
  if (!isControlUi || NO_ADDRESS.test(below) || isFileName(below)) return false;
  const { accept } = headers;
  return accept === undefined || /text\/html|\*\/\*/.test(accept);
}

interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** Compressed by the build of the page. */
  readonly gzip?: Buffer;
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, bytes, gzip: built }: PageFile,
  gzips: Gzips,
): Promise<FastifyReply> {
  const etag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
  reply.type(type).headers({ etag, "cache-control": "no-cache", vary: "accept-encoding" });
  if (request.headers["if-none-match"] === etag) return reply.code(304).send();
  const takesGzip = /\bgzip\b/.test(request.headers["accept-encoding"] ?? "");
  if (!takesGzip || !COMPRESSIBLE.test(type)) return reply.send(bytes);
  return reply.header("content-encoding", "gzip").send(built ?? (await gzips.of(etag, bytes)));
}

/** Sends the document of a page: its own files are named from the base path, so that it can be opened at any address. */
function sendIndex(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, bytes }: PageFile,
  { basePath, isControlUi, gzips }: Served,
): Promise<FastifyReply> {
  const { host } = request.headers;
  if (!isControlUi) return sendFile(request, reply.header(...pagePolicy(host)), { type, bytes }, gzips);
  const html = bytes
    .toString("utf8")
    .replaceAll(/((?:src|href)=["'])\.\//g, `$1${basePath}/`)
    .replace(
      /<html\b/i,
      `<html data-openclaw-control-ui-base-path="${basePath}" data-openclaw-terminal-enabled="false"`,
    );
  return sendFile(request, reply.header(...controlUiPolicy(html, host)), { type, bytes: Buffer.from(html) }, gzips);
}

/** Settings that a Control UI asks for before it signs in: this gateway has no embedded pages, terminals and icons of other sites. */
function sendConfig(reply: FastifyReply, { basePath }: PageOptions): FastifyReply {
  return reply.header("cache-control", "no-cache").send({
    basePath,
    embedSandbox: "strict",
    allowExternalEmbedUrls: false,
    automaticallyFetchFavicons: false,
    communityInvite: false,
    terminalEnabled: false,
    cliAgentsEnabled: false,
    pluginAssetsRequireAuth: true,
    pluginFrameGrants: [],
  });
}

function sendMissing(reply: FastifyReply, name: string | undefined, { isControlUi }: PageOptions): FastifyReply {
  if (name !== INDEX) return sendText(reply, 404, "Not found.\n");
  return sendText(reply, 503, isControlUi ? NO_CONTROL_UI : NO_PAGE);
}

const sendText = (reply: FastifyReply, status: 404 | 503, text: string): FastifyReply =>
  reply.code(status).type("text/plain; charset=utf-8").send(text);

const queryOf = (url: string): string => (url.includes("?") ? url.slice(url.indexOf("?")) : "");

const COMPRESSIBLE = /^text\/|svg|json|javascript|wasm/;
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

/**
 * A file of the folder; undefined when it is missing, is of another kind, or a link leads it out of the folder. Not cached, since
 * the page may be built while the gateway runs.
 */
async function readBelow(dir: string, name: string): Promise<PageFile | undefined> {
  const type = TYPES[path.extname(name).toLowerCase()];
  if (type === undefined) return undefined;
  try {
    const root = await realpath(dir);
    const file = await realpath(path.join(root, name));
    if (!isInside(file, root)) return undefined;
    const [bytes, small] = await Promise.all([readRegular(file, LARGEST), readBuilt(file, root)]);
    return { type, bytes, ...(small && { gzip: small }) };
  } catch {
    return undefined;
  }
}

/** The compressed file beside a file, unless it is older. */
async function readBuilt(file: string, root: string): Promise<Buffer | undefined> {
  try {
    const small = await realpath(`${file}.gz`);
    const [of, own] = await Promise.all([stat(file), stat(small)]);
    return isInside(small, root) && own.mtimeMs >= of.mtimeMs ? await readRegular(small, LARGEST) : undefined;
  } catch {
    return undefined;
  }
}
