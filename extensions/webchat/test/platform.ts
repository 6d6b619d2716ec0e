import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { WebClients } from "../../../src/app/gateway/web-clients.ts";
import { NOTICE_TYPE } from "../../../src/sessions/transcript/history.ts";
import { OPERATOR_KEY } from "../../../src/sessions/keys.ts";
import { tableOf } from "../../../test/kit/store/session-table.ts";
import { openSessions } from "../../../src/sessions/sessions.ts";
import type { ChannelAdapter } from "../../../src/types/chat/channel.ts";
import { channelId, DEFAULT_ACCOUNT, DEFAULT_AGENT } from "../../../src/types/ids.ts";
import type { Peer } from "../../../src/types/chat/message.ts";
import type { WebMessage } from "../../../src/types/chat/web-clients.ts";
import { Host, type AnyPlatform, type PlatformFile } from "../../../test/contracts/channel.ts";
import { recordLog } from "../../../test/kit/log.ts";
import { webchat } from "../index.ts";

const noticeLine = z.object({
  customType: z.literal(NOTICE_TYPE),
  data: z.object({
    text: z.string(),
    media: z.array(z.object({ mime: z.string(), name: z.string(), source: z.object({ id: z.string() }) })).default([]),
  }),
});
type Notice = z.output<typeof noticeLine>["data"];

const direct: Peer = {
  channel: channelId("webchat"),
  account: DEFAULT_ACCOUNT,
  chat: { kind: "direct", id: OPERATOR_KEY },
};

/** A client that sends messages in sequence, each until it is accepted, like the page. */
class Client {
  readonly #room: WebClients;
  readonly waiting: WebMessage[] = [];
  #last: WebMessage | undefined;
  #said = 0;
  #isBusy = false;
  #isGone = false;

  constructor(room: WebClients) {
    this.#room = room;
  }

  say(text: string): string {
    this.#said += 1;
    const idempotencyKey = `said-${this.#said}`;
    this.#last = { sessionKey: OPERATOR_KEY, text, media: [], idempotencyKey, at: Date.now() };
    this.#offer(this.#last);
    return idempotencyKey;
  }

  /** Its connection broke before the acknowledgement: it sends the message again. */
  again(): void {
    if (this.#last) this.#offer(this.#last);
  }

  leave(): void {
    this.#isGone = true;
  }

  #offer(message: WebMessage): void {
    this.waiting.push(message);
    if (!this.#isBusy) void this.#work();
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    for (let [next] = this.waiting; next && !this.#isGone; [next] = this.waiting) {
      try {
        await this.#room.receive(next);
        this.waiting.shift();
      } catch {
        // Not accepted: it is sent again after all other work of this tick.
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    this.#isBusy = false;
  }
}

/** The gateway's own clients, with transcripts on disk. */
export async function webchatPlatform(): Promise<AnyPlatform> {
  const dir = mkdtempSync(join(tmpdir(), "webchat-"));
  const sessions = await openSessions({
    dir,
    table: await tableOf(dir),
    cwdFor: () => dir,
    log: recordLog(),
    defaultAgent: DEFAULT_AGENT,
  });
  const room = new WebClients({ sessions, defaultAgent: () => DEFAULT_AGENT, emit: () => undefined });
  const client = new Client(room);
  let host: Host | undefined;
  const real = webchat(room);
  const adapter: ChannelAdapter = {
    ...real,
    connect(config, given) {
      if (given instanceof Host) host = given;
      return real.connect(real.config.parse(config), given);
    },
  };
  const notices = (): readonly Notice[] =>
    readdirSync(dir)
      .filter((name) => name.endsWith(".jsonl"))
      .flatMap((name) => readFileSync(join(dir, name), "utf8").trim().split("\n"))
      .flatMap((line) => noticeLine.safeParse(JSON.parse(line)).data?.data ?? []);
  return {
    adapter,
    config: {},
    direct,
    say: (_to, text) => client.say(text),
    shown: () => notices().flatMap(({ text, media }) => (text === "" && media.length > 0 ? [] : [text])),
    unacknowledged: () => client.waiting.length,
    redeliver: () => client.again(),
    files: () =>
      notices().flatMap(({ text, media }) =>
        media.map(({ mime, name, source }): PlatformFile => ({
          kind: "image",
          mime,
          name,
          caption: text,
          bytes: host?.media.get(source.id) ?? new Uint8Array(),
        })),
      ),
    albums: () => notices().flatMap(({ media }) => (media.length === 0 ? [] : [media.length])),
    knowsKeys: true,
    async close() {
      client.leave();
      await sessions.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
