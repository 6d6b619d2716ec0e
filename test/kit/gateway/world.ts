import { test as base } from "vitest";
import { startFakeModel, type FakeModel } from "../../fakes/model.ts";
import { startFakeTelegram, type FakeTelegram, type TelegramCall } from "../../fakes/telegram.ts";
import { makeHome, PATIENCE_MS, walkConfig, type GatewayUnderTest, type Home, type StartOptions } from "./process.ts";

export type Config = Record<string, unknown>;

/** A Telegram and a model, as a walk uses them. */
export class Peers {
  readonly telegram: FakeTelegram;
  readonly model: FakeModel;

  constructor(telegram: FakeTelegram, model: FakeModel) {
    this.telegram = telegram;
    this.model = model;
  }

  /** The first message or edit that says so. */
  told(text: string | RegExp, chat?: number): Promise<TelegramCall> {
    return this.telegram.waitFor((call) => {
      const isText = call.method === "sendMessage" || call.method === "editMessageText";
      const fits = typeof text === "string" ? call.text.includes(text) : text.test(call.text);
      return isText && fits && call.ok && (chat === undefined || call.chatId === String(chat));
    }, PATIENCE_MS);
  }

  /** Answers each call by the first rule that its user's words fit; echoes otherwise. */
  script(rules: readonly (readonly [RegExp, Parameters<FakeModel["answer"]>[0]])[]): void {
    this.model.answer((call, number) => {
      const rule = rules.find(([words]) => words.test(call.said));
      return rule ? rule[1](call, number) : { text: `echo: ${call.said}` };
    });
  }

  async close(): Promise<void> {
    await Promise.all([this.telegram.close(), this.model.close()]);
  }
}

/** One walk: homes of its own, a Telegram and a model. */
export class World extends Peers {
  /** Whether answers grow in the chat, as edits or (the default) as drafts: on a busy machine any may, so most walks do without. */
  previews: boolean | "drafts" = false;
  readonly #homes: Home[] = [];

  /** The usual config with these keys over it. */
  config(more: Config = {}): Config {
    const edited = this.previews ? { nativeTransport: false } : { mode: "off" };
    const quiet = this.previews === "drafts" ? {} : { channels: { telegram: { streaming: edited } } };
    return merge(merge(walkConfig(this.telegram, this.model), quiet), more);
  }

  async home(config: Config = this.config()): Promise<Home> {
    const home = await makeHome(config);
    this.#homes.push(home);
    return home;
  }

  async start(more: Config = {}, options: StartOptions = {}): Promise<{ home: Home; gateway: GatewayUnderTest }> {
    const home = await this.home(this.config(more));
    return { home, gateway: await home.start(options) };
  }

  override async close(): Promise<void> {
    await Promise.all(this.#homes.map((home) => home.remove()));
    await super.close();
  }
}

export const test = base.extend<{ world: World }>({
  // eslint-disable-next-line no-empty-pattern
  world: async ({}, use) => {
    const world = new World(await startFakeTelegram(), await startFakeModel());
    await use(world);
    await world.close();
  },
});

/** `above` over `below`, key by key. */
export function merge(below: Config, above: Config): Config {
  const merged = { ...below };
  for (const [key, value] of Object.entries(above)) {
    const old = merged[key];
    merged[key] = isRecord(old) && isRecord(value) ? merge(old, value) : value;
  }
  return merged;
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
