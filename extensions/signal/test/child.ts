// An account that takes messages into a file and dies where it is told to: node child.ts <json>. It prints "up" when it listens.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { accountId } from "openclaw/plugin-sdk";
import type { ChannelHost, InboundMessage } from "openclaw/plugin-sdk";
import { signal } from "../index.ts";
import { SELF } from "./fake-signal.ts";

export interface Orders {
  readonly cliPath: string;
  readonly folder: string;
  readonly journal: string;
  readonly notes: string;
  /** `message`: at a message with this text. `note`: at a note of this key. */
  readonly die: "never" | { readonly at: "message" | "stored" | "note" | "noted"; readonly what: string };
}

const orders = JSON.parse(process.argv[2] ?? "{}") as Orders;

function dieAt(at: string, what: string): void {
  if (orders.die !== "never" && orders.die.at === at && what.includes(orders.die.what))
    process.kill(process.pid, "SIGKILL");
}

async function receive(messages: readonly InboundMessage[]): Promise<void> {
  const all = messages.map(({ text }) => text);
  dieAt("message", all.join("\n"));
  appendFileSync(orders.journal, all.map((text) => `${text}\n`).join(""));
  dieAt("stored", all.join("\n"));
}

const notes = (): Record<string, string> =>
  existsSync(orders.notes) ? (JSON.parse(readFileSync(orders.notes, "utf8")) as Record<string, string>) : {};

const host: ChannelHost = {
  account: accountId("default"),
  receive,
  report: ({ kind }) => kind === "alive" && process.stdout.write("up\n"),
  openMedia: async () => new Uint8Array(),
  fetch: async () => ({ bytes: new Uint8Array() }),
  notes: {
    get: async (key) => notes()[key],
    async set(key, value) {
      dieAt("note", `${key} ${value}`);
      writeFileSync(orders.notes, JSON.stringify({ ...notes(), [key]: value }));
      dieAt("noted", `${key} ${value}`);
    },
  },
  folder: async () => orders.folder,
  library: async (name) => import.meta.resolve(name),
  commands: [],
  serve: () => undefined,
  log: {
    info: (message, fields) => console.error(message, JSON.stringify(fields)),
    warn: (message, fields) => console.error(message, JSON.stringify(fields)),
  },
  signal: new AbortController().signal,
};
const linking = signal.connect(signal.config.parse({ account: SELF.number, cliPath: orders.cliPath }), host);
process.on("SIGTERM", () => void linking.then((link) => link.close()).then(() => process.exit(0)));
await linking;
