import { execFileSync } from "node:child_process";
import { createECDH, createPublicKey, randomBytes, verify } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import ece from "http_ece";
import { z } from "zod";
import { until } from "../kit/until.ts";

/** A notification as the push service got it. */
export interface Delivered {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

type Reply = number | ((response: ServerResponse) => unknown);

interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** A certificate of 127.0.0.1 that signs itself. Undefined where there is no openssl. */
function makeCertificate(): Certificate | undefined {
  const dir = mkdtempSync(join(tmpdir(), "push-service-"));
  const [key, cert] = [join(dir, "key.pem"), join(dir, "cert.pem")];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const names = ["-subj", "/CN=push", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"];
  try {
    execFileSync("openssl", ["req", "-x509", ...curve, ...names, "-keyout", key, "-out", cert], { stdio: "pipe" });
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The certificate of every push service of these tests; undefined where there is no openssl, and so no push service. */
export const CERTIFICATE = makeCertificate();

/** A push service of browsers on this machine (RFC 8030). It keeps what it was sent, and answers as it was told, 201 otherwise. */
export class FakePushService {
  readonly delivered: Delivered[] = [];
  readonly #replies: Reply[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on("request", (request, response) => {
      const body = new PassThrough();
      request.pipe(body);
      void body.toArray().then((parts: Buffer[]) => {
        this.delivered.push({ path: request.url ?? "", headers: request.headers, body: Buffer.concat(parts) });
        const reply = this.#replies.shift() ?? 201;
        if (typeof reply === "number") response.writeHead(reply).end();
        else reply(response);
      });
    });
  }

  static async start(): Promise<FakePushService> {
    if (!CERTIFICATE) throw new Error("a push service needs openssl");
    const server = createServer(CERTIFICATE);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new FakePushService(server);
  }

  get origin(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How the next requests are answered. */
  reply(...replies: readonly Reply[]): void {
    this.#replies.push(...replies);
  }

  /** The notification of this number, from 1. */
  async nth(count: number): Promise<Delivered> {
    await until(() => this.delivered.length >= count, `notification ${count}`);
    return this.delivered[count - 1]!;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const notice = z.strictObject({
  title: z.string(),
  body: z.string(),
  tag: z.string(),
  url: z.string(),
  renotify: z.literal(false),
  isOver: z.literal(true).optional(),
});

/** A browser's subscription at a push service, with the keys that only the browser has. */
export class FakeBrowser {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
  readonly #key = createECDH("prime256v1");

  constructor({ origin }: { readonly origin: string }, name = "browser") {
    this.endpoint = `${origin}/push/${name}`;
    this.keys = { p256dh: this.#key.generateKeys("base64url"), auth: randomBytes(16).toString("base64url") };
  }

  /** What the browser's service worker gets. Throws for a message that is not for this browser. */
  read({ body }: Delivered): z.output<typeof notice> {
    const { auth } = this.keys;
    const text = ece.decrypt(body, { version: "aes128gcm", privateKey: this.#key, authSecret: auth }).toString("utf8");
    return notice.parse(JSON.parse(text));
  }
}

const claims = z.strictObject({ aud: z.string(), exp: z.number(), sub: z.string() });

/** The claims in the `Authorization` of a notification (RFC 8292), and the key that signed them. Throws for another header. */
export function readVapid({ headers }: Delivered): z.output<typeof claims> & { readonly key: string } {
  const [, signed = "", signature = "", key = ""] =
    /^vapid t=([\w-]+\.[\w-]+)\.([\w-]+), k=([\w-]+)$/.exec(headers.authorization ?? "") ?? [];
  const point = Buffer.from(key, "base64url");
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString("base64url"));
  const jwk = { kty: "EC", crv: "P-256", x: x ?? "", y: y ?? "" };
  const publicKey = createPublicKey({ key: jwk, format: "jwk" });
  const proof = Buffer.from(signature, "base64url");
  if (!verify("sha256", Buffer.from(signed), { key: publicKey, dsaEncoding: "ieee-p1363" }, proof))
    throw new Error("the signature is none of this key");
  const [head, body] = signed.split(".").map((part): unknown => JSON.parse(Buffer.from(part, "base64url").toString()));
  z.strictObject({ typ: z.literal("JWT"), alg: z.literal("ES256") }).parse(head);
  return { ...claims.parse(body), key };
}
