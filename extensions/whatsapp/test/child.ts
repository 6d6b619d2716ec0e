// A process that takes messages into a file and dies where it is told to: node --import trust-fake.mjs child.ts <json>.
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { accountId } from "openclaw/plugin-sdk";
import type { ChannelHost, InboundMessage, Peer } from "openclaw/plugin-sdk";
import { WebSocket } from "ws";
import { whatsapp, whatsappConfig } from "../index.ts";
import { GROUP } from "./fake/stanzas.ts";

export interface Orders {
  readonly url: string;
  readonly folder: string;
  readonly journal: string;
  readonly die: "before" | "stored" | "microtask" | "tick" | "later" | "noting" | "noted" | "never";
  /** At which of its notes it dies, if it dies at one. */
  readonly nth?: number;
  /** Written to the group when the connection stands; dies when so many frames have left since, or at the end when it is never. */
  readonly say?: { readonly text: string; readonly frames: number };
}

const orders = JSON.parse(process.argv[2] ?? "{}") as Orders;
const die = (): void => void process.kill(process.pid, "SIGKILL");

async function receive(messages: readonly InboundMessage[]): Promise<void> {
  if (orders.die === "before") die();
  for (const { eventKey, text, media } of messages)
    appendFileSync(orders.journal, `${JSON.stringify({ eventKey, text, files: media.length })}\n`);
  if (orders.die === "stored") die();
  if (orders.die === "microtask") queueMicrotask(() => queueMicrotask(die));
  if (orders.die === "tick") setImmediate(die);
  if (orders.die === "later") setTimeout(die, 5);
}

const noteFile = path.join(orders.folder, "notes.json");
const notes = existsSync(noteFile) ? (JSON.parse(readFileSync(noteFile, "utf8")) as Record<string, string>) : {};
let written = 0;

async function note(key: string, value: string): Promise<void> {
  written += 1;
  if (orders.die === "noting" && written === orders.nth) die();
  notes[key] = value;
  writeFileSync(`${noteFile}.new`, JSON.stringify(notes));
  renameSync(`${noteFile}.new`, noteFile);
  if (orders.die === "noted" && written === orders.nth) die();
}

/** The kernel has the frame then, and the library does not know yet. */
function dieAtFrame(frames: number): void {
  let left = frames;
  // Called with its socket.
  // oxlint-disable-next-line typescript/unbound-method
  const { send } = WebSocket.prototype;
  WebSocket.prototype.send = function sendAndDie(data: unknown, done?: unknown) {
    left--;
    return Reflect.apply(send, this, [data, left === 0 ? die : done]);
  };
}

const host: ChannelHost = {
  account: accountId("default"),
  receive,
  report: () => undefined,
  openMedia: async () => new Uint8Array(),
  fetch: async () => ({ bytes: new Uint8Array() }),
  notes: { get: async (key) => notes[key], set: note },
  folder: async () => orders.folder,
  library: async (name) => import.meta.resolve(name),
  commands: [],
  serve: () => undefined,
  log: { info: () => undefined, warn: () => undefined },
  signal: new AbortController().signal,
};
const linking = whatsapp.connect(whatsappConfig.parse({ waWebSocketUrl: orders.url, mediaGroupFlushMs: 60_000 }), host);
// Questions that the library has asked keep a process alive until their time is over.
process.on("SIGTERM", () => void linking.then((link) => link.close()).then(() => process.exit(0)));
if (orders.say) {
  const { text, frames } = orders.say;
  const crew = { channel: whatsapp.id, account: host.account, chat: { kind: "group", id: GROUP } } satisfies Peer;
  const { send } = await linking;
  dieAtFrame(frames);
  await send(crew, { kind: "text", body: text, plain: text, format: "plain" }, { idempotencyKey: text });
  if (frames > 0) die();
}
await linking;
