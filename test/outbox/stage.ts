import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openJournal, type OpenJournal } from "../../src/store/journal/journal.ts";
import type { ChannelLimits, ChannelLink, SendResult } from "../../src/types/chat/channel.ts";
import type { Clock } from "../../src/types/clock.ts";
import { accountId, channelId } from "../../src/types/ids.ts";
import type { Peer } from "../../src/types/chat/message.ts";
import type { OutboundPart } from "../../src/types/chat/reply.ts";
import { listen, type Lines } from "../fakes/log.ts";

export { listen, type Lines };
export { quiet, stageClock } from "./quiet.ts";

/** Looks until it is so. */
export async function until(isSo: () => unknown, what = "this", ms = 20_000): Promise<void> {
  const end = Date.now() + ms;
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error(`waited ${ms} ms in vain for ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

export interface HandClock extends Clock {
  /** Timers that are set, in milliseconds from now. */
  readonly waits: readonly number[];
  /** Moves the time on and calls what is due. */
  pass(ms: number): void;
}

/** A clock that moves when told. */
export function handClock(start = Date.UTC(2026, 10, 21)): HandClock {
  let time = start;
  const timers = new Set<{ at: number; call: () => void }>();
  return {
    now: () => time,
    after(ms, call) {
      const timer = { at: time + ms, call };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    get waits() {
      return [...timers].map((timer) => timer.at - time);
    },
    pass(ms) {
      time += ms;
      for (const timer of [...timers].filter(({ at }) => at <= time)) {
        timers.delete(timer);
        timer.call();
      }
    },
  };
}

export interface Shown {
  readonly id: string;
  text: string;
  readonly chat: string;
  readonly replyTo?: string;
  readonly edits: string[];
  buttons: readonly string[];
}

/** A chat platform: what people see of it, and what it answers. */
export class Platform implements ChannelLink {
  readonly messages: Shown[] = [];
  readonly calls: { call: "send" | "edit"; text: string; key?: string; silent?: boolean }[] = [];
  typed = 0;
  /** What the next calls give instead of success; `lands` says whether the message is there all the same. */
  readonly script: { result: SendResult; lands?: boolean }[] = [];
  /** Nothing can be removed here. */
  keepsAll = false;
  /** Calls wait for it. */
  gate: Promise<void> | undefined;
  #ids = 0;

  async send(
    to: Peer,
    part: OutboundPart,
    options: {
      replyTo?: string;
      idempotencyKey: string;
      buttons?: readonly { command: string }[];
      silent?: boolean;
    },
  ): Promise<SendResult> {
    const { idempotencyKey: key, silent } = options;
    this.calls.push({ call: "send", text: textOf(part), key, ...(silent !== undefined && { silent }) });
    await this.gate;
    const next = this.script.shift();
    if (next && next.lands !== true) return next.result;
    this.#ids += 1;
    const id = `m${this.#ids}`;
    this.messages.push({
      id,
      text: textOf(part),
      chat: to.chat.id,
      edits: [],
      buttons: (options.buttons ?? []).map((button) => button.command),
      ...(options.replyTo !== undefined && { replyTo: options.replyTo }),
    });
    return next?.result ?? { kind: "sent", messageId: id };
  }

  async edit(
    _to: Peer,
    messageId: string,
    part: OutboundPart & { kind: "text" },
    options: { buttons?: readonly { command: string }[] } = {},
  ): Promise<SendResult> {
    this.calls.push({ call: "edit", text: textOf(part) });
    await this.gate;
    const next = this.script.shift();
    if (next && next.lands !== true) return next.result;
    const message = this.messages.find(({ id }) => id === messageId);
    if (!message) return { kind: "refused", reason: "message to edit not found" };
    message.edits.push(message.text);
    message.text = textOf(part);
    message.buttons = (options.buttons ?? []).map((button) => button.command);
    return next?.result ?? { kind: "sent", messageId };
  }

  async remove(_to: Peer, messageId: string): Promise<SendResult> {
    const at = this.messages.findIndex(({ id }) => id === messageId);
    if (this.keepsAll) return { kind: "refused", reason: "message can't be deleted" };
    if (at >= 0) this.messages.splice(at, 1);
    return { kind: "sent", messageId };
  }

  async typing(): Promise<void> {
    this.typed += 1;
  }

  async close(): Promise<void> {}

  get texts(): string[] {
    return this.messages.map(({ text }) => text);
  }
}

function textOf(part: OutboundPart): string {
  if (part.kind === "text") return part.body;
  const files = "<media>".repeat(1 + (part.more?.length ?? 0));
  return [...(part.caption ? [part.caption.body] : []), files].join(" ");
}

export const peer = (id: string): Peer => ({
  channel: channelId("telegram"),
  account: accountId("default"),
  chat: { kind: "direct", id },
});

export const LIMITS: ChannelLimits = { text: 4096, format: "plain", media: 1000 };

/** A state directory that outlives the journals opened on it. */
export async function scratch(clock?: Clock) {
  const dir = await mkdtemp(join(tmpdir(), "walk-"));
  const opened: OpenJournal[] = [];
  return {
    dir,
    async journal(bootId = "boot-1"): Promise<OpenJournal> {
      const journal = await openJournal({
        path: join(dir, "journal.sqlite"),
        bootId,
        sync: "normal",
        ...(clock && { clock }),
      });
      opened.push(journal);
      return journal;
    },
    async remove(): Promise<void> {
      for (const journal of opened) await journal.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
