import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";
import type http from "node:http";
import { buffer } from "node:stream/consumers";

export interface Located {
  readonly directPath?: string | null;
  readonly mediaKey?: Uint8Array | null;
}

/** The platform's files: what the bot uploads, what people send. Sealed as lib/Utils/messages-media.js of Baileys does. */
export class MediaStore {
  readonly #files = new Map<string, Buffer>();
  readonly #uploads = new Map<string, Buffer>();

  async serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    if (request.method === "POST") return this.#receive(request, response);
    const file = this.#files.get(request.url ?? "");
    response.writeHead(file ? 200 : 404).end(file);
  }

  async #receive(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const body = await buffer(request);
    const path = new URL(request.url!, "http://x").pathname;
    this.#uploads.set(path, body);
    response.end(JSON.stringify({ url: `https://mmg.whatsapp.net${path}`, direct_path: path }));
  }

  /** What the bot uploaded. */
  openUpload({ directPath, mediaKey }: Located, info: string): Buffer {
    const sealed = this.#uploads.get(directPath ?? "")!;
    const { iv, key } = fileKeys(mediaKey!, info);
    const cipher = createDecipheriv("aes-256-cbc", key, iv);
    return Buffer.concat([cipher.update(sealed.subarray(0, -10)), cipher.final()]);
  }

  /** A file on the platform; what a message says of it. */
  sealFile(bytes: Uint8Array, info: string) {
    const mediaKey = randomBytes(32);
    const { iv, key, macKey } = fileKeys(mediaKey, info);
    const cipher = createCipheriv("aes-256-cbc", key, iv);
    const body = Buffer.concat([cipher.update(bytes), cipher.final()]);
    const mac = createHmac("sha256", macKey).update(iv).update(body).digest().subarray(0, 10);
    const directPath = `/v/t62/${randomBytes(6).toString("hex")}.enc`;
    this.#files.set(directPath, Buffer.concat([body, mac]));
    return { mediaKey, directPath, url: `https://mmg.whatsapp.net${directPath}`, fileLength: bytes.length };
  }
}

function fileKeys(mediaKey: Uint8Array, info: string) {
  const keys = Buffer.from(hkdfSync("sha256", mediaKey, new Uint8Array(0), `WhatsApp ${info} Keys`, 112));
  return { iv: keys.subarray(0, 16), key: keys.subarray(16, 48), macKey: keys.subarray(48, 80) };
}
