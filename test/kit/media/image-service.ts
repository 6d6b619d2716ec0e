import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** One request to a service that draws. */
export interface DrawRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly raw: Buffer;
  /** The body, where it is JSON. */
  readonly body: Record<string, unknown>;
}

export interface DrawReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

type Answer = (request: DrawRequest, number: number) => DrawReply | "hang" | "cut";

export interface ImageService {
  readonly url: string;
  readonly asked: readonly DrawRequest[];
  answer(reply: Answer): void;
  close(): Promise<void>;
}

/** A server of this machine that answers as the test says; `hang` never answers, and `cut` breaks off in the middle. */
export async function startImageService(first: Answer): Promise<ImageService> {
  const asked: DrawRequest[] = [];
  let answer = first;
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const raw = Buffer.concat(parts);
      const isJson = request.headers["content-type"] === "application/json";
      const body = isJson ? (JSON.parse(raw.toString("utf8")) as DrawRequest["body"]) : {};
      const one: DrawRequest = { path: request.url ?? "", headers: request.headers, raw, body };
      asked.push(one);
      const said = answer(one, asked.length);
      if (said === "hang") return;
      if (said === "cut") {
        response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
        return void response.write('{"data":', () => request.socket.destroy());
      }
      const isBytes = said.body instanceof Uint8Array;
      response.writeHead(said.status ?? 200, {
        "content-type": isBytes ? "image/png" : "application/json",
        ...said.headers,
      });
      response.end(isBytes || typeof said.body === "string" ? said.body : JSON.stringify(said.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    answer: (reply) => void (answer = reply),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
