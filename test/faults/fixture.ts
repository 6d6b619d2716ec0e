import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { SessionManager } from "@mariozechner/pi-coding-agent";
import { afterEach, beforeEach, expect } from "vitest";
import { z } from "zod";
import { startFakeModel, type FakeModel } from "../fakes/model.ts";
import { startFakeTelegram, type FakeTelegram, type TelegramMoment } from "../fakes/telegram.ts";
import { makeHome, walkConfig, type Ended, type GatewayUnderTest, type Home } from "../kit/gateway/process.ts";

/** Who writes when nobody is named. */
export const ADA = 1001;

/** One Telegram, one model and one state directory; gateways come and go over them. */
export class FaultFixture {
  readonly telegram: FakeTelegram;
  readonly model: FakeModel;
  readonly home: Home;

  constructor(telegram: FakeTelegram, model: FakeModel, home: Home) {
    this.telegram = telegram;
    this.model = model;
    this.home = home;
  }

  start(env: Record<string, string> = {}): Promise<GatewayUnderTest> {
    return this.home.start({ env });
  }

  config(more: Record<string, unknown>): Promise<void> {
    return this.home.writeConfig(walkConfig(this.telegram, this.model, more));
  }

  /** Resolves at the first such call of Telegram, as soon as it has come in or been done. */
  moment(fits: (moment: TelegramMoment) => boolean): Promise<TelegramMoment> {
    return new Promise((resolve) => this.telegram.tap((moment) => fits(moment) && resolve(moment)));
  }

  /** Resolves when Telegram has been told by a poll that everything offered so far was taken. */
  async acknowledged(): Promise<void> {
    while (this.telegram.pending.length > 0) await this.moment(() => true);
  }

  /** Waits for the answer to one more message: the proof that the gateway goes on. */
  async goesOn(text = "and now?"): Promise<void> {
    this.model.answer((call) => ({ text: `echo: ${call.said}` }));
    this.telegram.say(text);
    await this.telegram.waitFor((call) => call.ok && call.text.includes("echo:") && call.text.includes(text));
  }

  /** What the chat shows that holds these words. */
  shown(words: string, chat: number = ADA): readonly string[] {
    return this.telegram.shown(chat).filter((text) => text.includes(words));
  }

  async transcripts(): Promise<readonly string[]> {
    const dir = this.sessionsDir;
    return (await readdir(dir)).filter((name) => name.endsWith(".jsonl")).map((name) => join(dir, name));
  }

  get sessionsDir(): string {
    return join(this.home.stateDir, "sessions");
  }

  /** Resolves when a tool has made this file. */
  async fileIsThere(name: string): Promise<void> {
    while (!existsSync(join(this.home.stateDir, "workspace", name))) await new Promise((look) => setTimeout(look, 10));
  }

  workspaceFile(name: string): Promise<string> {
    return readFile(join(this.home.stateDir, "workspace", name), "utf8");
  }

  async close(): Promise<void> {
    await this.home.remove();
    await this.telegram.close();
    await this.model.close();
  }
}

/** Commands of anybody run without a question and outside of a sandbox, so that what they change can be counted. */
export const FREE_COMMANDS = {
  agents: { defaults: { model: { primary: "fake/fake-1" }, sandbox: { mode: "off" } } },
  tools: { exec: { security: "full", ask: "off" } },
};

/** A fresh fixture for each test of a file. */
export function useFaultFixture(more: Record<string, unknown> = {}): () => FaultFixture {
  let fixture: FaultFixture | undefined;
  beforeEach(async () => {
    const [telegram, model] = await Promise.all([startFakeTelegram(), startFakeModel()]);
    fixture = new FaultFixture(telegram, model, await makeHome(walkConfig(telegram, model, more)));
  });
  afterEach(async () => fixture?.close());
  return () => {
    if (!fixture) throw new Error("no stage yet");
    return fixture;
  };
}

const message = z.looseObject({
  role: z.string(),
  content: z.union([
    z.string(),
    z.array(z.looseObject({ type: z.string(), id: z.string().optional(), text: z.string().optional() })),
  ]),
  toolCallId: z.string().optional(),
  isError: z.boolean().optional(),
});
type Message = z.infer<typeof message>;

/** The messages of a transcript as the SDK reads them. Fails when a line is torn or a call has not its one result. */
export async function readTranscript(path: string): Promise<readonly Message[]> {
  const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
  for (const line of lines) JSON.parse(line);
  const messages = SessionManager.open(path).buildSessionContext().messages;
  const read = z.array(message).parse(messages);
  expectPaired(read);
  return read;
}

/** Every call has exactly one result after it. */
function expectPaired(messages: readonly Message[]): void {
  const open: string[] = [];
  for (const message of messages) {
    if (message.role === "toolResult") {
      const [call] = open.splice(open.indexOf(message.toolCallId ?? ""), 1);
      expect(call, "a result without its call").toBe(message.toolCallId);
    } else {
      expect(open, "a turn begins before these calls have results").toEqual([]);
      open.push(...callsIn(message));
    }
  }
  expect(open).toEqual([]);
}

const callsIn = ({ content }: Message): string[] =>
  typeof content === "string" ? [] : content.flatMap((part) => (part.type === "toolCall" ? [part.id ?? ""] : []));

export const textOf = (message: Message | undefined): string =>
  typeof message?.content === "string" ? message.content : (message?.content ?? []).map((it) => it.text ?? "").join("");

/** Rows of the journal of a gateway that has ended. */
export function journalRows(home: Home, sql: string): readonly Record<string, unknown>[] {
  const db = new DatabaseSync(join(home.stateDir, "state", "journal.sqlite"), { readOnly: true });
  try {
    return db.prepare(sql).all() as Record<string, unknown>[];
  } finally {
    db.close();
  }
}

/** Log lines with this message. */
export const linesOf = (gateway: GatewayUnderTest, message: string): readonly Record<string, unknown>[] =>
  gateway.lines.filter((line) => line["msg"] === message);

/** Runs a command over the fixture's state directory, to its end. */
export const openclaw = (at: FaultFixture, ...args: string[]): Promise<Ended> => at.home.run(args);
