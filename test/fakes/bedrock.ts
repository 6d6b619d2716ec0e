import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { crc32 } from "node:zlib";

/** A server of Amazon Bedrock that answers every call with one text, and keeps what it was asked. */
export interface FakeBedrock {
  readonly url: string;
  /** Path and `authorization` of each call. */
  readonly calls: readonly { readonly path: string; readonly authorization: string }[];
  close(): Promise<void>;
}

/** How the stream goes on after the text: it ends; it stays open after the counts, or after the reason; it breaks after the reason. */
export type BedrockEnding = "whole" | "open" | "open_uncounted" | "reset_uncounted";

/** HTTP/2 without TLS, as the AWS SDK speaks to an `http:` address. */
export async function startFakeBedrock(text: string, ending: BedrockEnding = "whole"): Promise<FakeBedrock> {
  const calls: { path: string; authorization: string }[] = [];
  const sessions = new Set<http2.ServerHttp2Session>();
  const server = http2.createServer();
  server.on("session", (session) => sessions.add(session));
  server.on("stream", (stream, headers) => {
    calls.push({ path: headers[":path"] ?? "", authorization: headers.authorization ?? "" });
    stream.resume();
    // A reset that the test wants is an error here, too.
    stream.on("error", () => undefined);
    stream.on("end", () => {
      stream.respond({ ":status": 200, "content-type": "application/vnd.amazon.eventstream" });
      const events = eventsOf(text);
      if (ending === "whole") {
        stream.end(Buffer.concat(events));
        return;
      }
      const fails = (): void => stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
      stream.write(
        Buffer.concat(ending === "open" ? events : events.slice(0, -1)),
        () => ending === "reset_uncounted" && setImmediate(fails),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    close: () => {
      for (const session of sessions) session.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

const eventsOf = (text: string): Buffer[] => [
  frame("messageStart", { role: "assistant" }),
  frame("contentBlockDelta", { contentBlockIndex: 0, delta: { text } }),
  frame("contentBlockStop", { contentBlockIndex: 0 }),
  frame("messageStop", { stopReason: "end_turn" }),
  frame("metadata", { usage: { inputTokens: 5, outputTokens: 3, totalTokens: 8 }, metrics: { latencyMs: 1 } }),
];

/** One message of AWS's event stream: lengths, their checksum, headers, payload, and the checksum of all that. */
function frame(event: string, payload: object): Buffer {
  const headers = Buffer.concat([
    header(":event-type", event),
    header(":content-type", "application/json"),
    header(":message-type", "event"),
  ]);
  const body = Buffer.from(JSON.stringify(payload));
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32BE(16 + headers.length + body.length, 0);
  lengths.writeUInt32BE(headers.length, 4);
  const checked = Buffer.concat([lengths, checksumOf(lengths), headers, body]);
  return Buffer.concat([checked, checksumOf(checked)]);
}

/** A header with a string: the length of its name, the name, the type 7, the length of its value, the value. */
function header(name: string, value: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(value.length);
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), length, Buffer.from(value)]);
}

function checksumOf(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum;
}
