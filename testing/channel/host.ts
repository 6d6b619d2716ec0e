import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fetchForChannel } from "../../src/channels/connection/fetch-file.ts";
import type {
  AccountNotes,
  ChannelHost,
  FetchRequest,
  LinkReport,
  WebhookAnswer,
  WebhookRequest,
} from "../../src/types/chat/channel.ts";
import { accountId } from "../../src/types/ids.ts";
import type { InboundMessage, MediaItem } from "../../src/types/chat/message.ts";

function emptyNotes(): AccountNotes {
  const notes = new Map<string, string>();
  return { get: async (key) => notes.get(key), set: async (key, value) => void notes.set(key, value) };
}

/** A host that keeps all messages and reports. */
export class Host implements ChannelHost {
  readonly account = accountId("default");
  readonly received: InboundMessage[] = [];
  readonly reports: LinkReport[] = [];
  readonly lines: string[] = [];
  readonly #stop = new AbortController();
  readonly signal: AbortSignal = this.#stop.signal;
  readonly media = new Map<string, Uint8Array>();
  /** How many of the next batches are refused. */
  refuse = 0;
  offered = 0;
  #changed: () => void = () => undefined;

  /** Makes the host with the notes of an earlier one: the account after a restart. */
  constructor(earlier?: Host) {
    this.notes = earlier?.notes ?? emptyNotes();
  }

  readonly commands = [{ name: "status", description: "How the gateway is." }];
  readonly notes: AccountNotes;

  /** Handlers that were given to `serve`, by path. */
  readonly routes = new Map<string, (request: WebhookRequest) => Promise<WebhookAnswer>>();
  #folder: Promise<string> | undefined;

  /** Temporary folder of the host; `stopAll` removes it. */
  folder = async (): Promise<string> => (this.#folder ??= mkdtemp(join(tmpdir(), "account-")));

  /** Addresses of the libraries that an adapter may ask for, by name. */
  readonly libraries = new Map<string, string>();
  library = async (name: string): Promise<string> => {
    const found = this.libraries.get(name);
    if (found === undefined) throw new Error(`the test has no library ${name}`);
    return found;
  };

  serve(path: string, answer: (request: WebhookRequest) => Promise<WebhookAnswer>): void {
    this.routes.set(path, answer);
  }

  /** A fake of a platform is on this machine: its address is allowed for an adapter that names none itself. */
  fetch = async (url: string, request: FetchRequest = {}) =>
    fetchForChannel(url, { maxBytes: 50 * 1_048_576, trusted: [new URL(url).origin], ...request }, this.signal);

  async clean(): Promise<void> {
    if (this.#folder) await rm(await this.#folder, { recursive: true, force: true });
  }

  readonly log = {
    info: (message: string, fields?: object): void => void this.lines.push(`${message} ${JSON.stringify(fields)}`),
    warn: (message: string, fields?: object): void => void this.lines.push(`${message} ${JSON.stringify(fields)}`),
  };

  async receive(messages: readonly InboundMessage[]): Promise<void> {
    this.offered++;
    if (this.refuse > 0) {
      this.refuse--;
      this.#changed();
      throw new Error("disk full");
    }
    this.received.push(...messages);
    this.#changed();
  }

  report(state: LinkReport): void {
    this.reports.push(state);
    this.#changed();
  }

  async openMedia(item: MediaItem): Promise<Uint8Array> {
    const bytes = item.source.at === "store" ? this.media.get(item.source.id) : undefined;
    if (!bytes) throw new Error("no such file");
    return bytes;
  }

  stop(): void {
    this.#stop.abort();
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  /** The message with this text, as soon as it is there. */
  async heard(text: string): Promise<InboundMessage> {
    const find = (): InboundMessage | undefined => this.received.find((message) => message.text.includes(text));
    await this.until(() => find() !== undefined);
    return find()!;
  }
}
