import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { startFakeModel, type FakeModel } from "../../fakes/model.ts";
import { isUp, makeHome, type GatewayUnderTest, type Home } from "../../kit/gateway/process.ts";
import { FAULTS, type Fault, type LoadedPlatform, type OpenLoaded } from "./load-platforms.ts";

export interface LoadOptions {
  readonly platforms: readonly OpenLoaded[];
  readonly messages: number;
  readonly chats: number;
  /** Share of the messages and of the answers' pieces at which something goes wrong. */
  readonly faultShare: number;
  readonly seed: number;
  /** Messages without an answer at any moment. */
  readonly underway: number;
}

export interface LoadReport {
  readonly seconds: number;
  readonly messagesPerSecond: number;
  readonly faults: Readonly<Record<Fault | "slow" | "cut", number>>;
  readonly labelled: number;
  /** Answers that the gateway gave up after two sends with unknown end, and told the operator of. */
  readonly givenUp: readonly string[];
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  readonly outOfOrder: readonly string[];
  readonly unsettled: number;
  /** Resident memory of the gateway in MiB, each fiftieth of the way. */
  readonly memory: readonly number[];
}

const LABEL = "(possible repeat) ";
/** What each message asks to be answered with. The gateway may also tell a chat that an answer may be missing. */
const MARK = /no\d+\./;
const SLOW_MS = 150;
/** All connections of a platform break once in so many messages. */
const CUT_EVERY = 200;
const PATIENCE_MS = 60_000;

/** Many people on several channels at once, over platforms that fail. Rejects when answers stop to come. */
export async function runLoad(options: LoadOptions): Promise<LoadReport> {
  const next = random(options.seed);
  const counts: Record<Fault | "slow" | "cut", number> = {
    limited: 0,
    broken: 0,
    dropped: 0,
    lost: 0,
    slow: 0,
    cut: 0,
  };
  const slow = () => {
    if (next() >= options.faultShare) return 0;
    counts.slow += 1;
    return SLOW_MS;
  };
  const platforms = await Promise.all(options.platforms.map((open) => open(slow)));
  const [model, home] = await Promise.all([startFakeModel(), makeHome({})]);
  try {
    await home.writeConfig(configOf(platforms, model));
    for (const platform of platforms) await platform.prepare?.(home.stateDir);
    const gateway = await home.start({ env: Object.assign({}, ...platforms.map(({ env }) => env)) });
    for (const { id } of platforms) await gateway.logged(isUp(id));
    return await new Load({ options, platforms, model, home, gateway, next, counts }).run();
  } finally {
    await home.remove();
    await Promise.all([...platforms.map((platform) => platform.close()), model.close()]);
  }
}

interface Scene {
  readonly options: LoadOptions;
  readonly platforms: readonly LoadedPlatform[];
  readonly model: FakeModel;
  readonly home: Home;
  readonly gateway: GatewayUnderTest;
  readonly next: () => number;
  readonly counts: Record<Fault | "slow" | "cut", number>;
}

class Load {
  readonly #scene: Scene;
  /** Marks by chat, in the order in which they were said. */
  readonly #said = new Map<number, string[]>();
  readonly #open = new Set<string>();
  readonly #memory: number[] = [];
  #wake: () => void = () => undefined;

  constructor(scene: Scene) {
    this.#scene = scene;
    scene.model.answer((call) => ({ text: `answer to ${call.said.match(/no\d+\./g)?.at(-1)} END` }));
    for (const platform of scene.platforms) {
      platform.onShown((text) => {
        this.#open.delete(/no\d+\./.exec(text)?.[0] ?? "");
        this.#wake();
      });
    }
  }

  async run(): Promise<LoadReport> {
    const { options, counts } = this.#scene;
    const began = performance.now();
    for (let at = 0; at < options.messages; at += 1) {
      await this.#fewerThan(options.underway);
      this.#sayOne(at);
      if (at % Math.ceil(options.messages / 50) === 0) this.#measure();
    }
    const unsettled = await this.#settle();
    const seconds = (performance.now() - began) / 1000;
    return {
      seconds,
      messagesPerSecond: options.messages / seconds,
      faults: counts,
      ...this.#judge(),
      unsettled,
      memory: this.#memory,
    };
  }

  #sayOne(at: number): void {
    const { options, next, counts } = this.#scene;
    const chat = Math.floor(next() * options.chats);
    const platform = this.#platformOf(chat);
    if (next() < options.faultShare) {
      const fault = FAULTS[Math.floor(next() * FAULTS.length)] ?? "broken";
      counts[fault] += 1;
      platform.fail(fault);
    }
    if (at % CUT_EVERY === CUT_EVERY - 1) {
      counts.cut += 1;
      platform.wire.cut();
    }
    const mark = `no${at}.`;
    this.#said.set(chat, [...(this.#said.get(chat) ?? []), mark]);
    this.#open.add(mark);
    platform.say(chat, `please ${mark}`);
  }

  #platformOf(chat: number): LoadedPlatform {
    const platform = this.#scene.platforms[chat % this.#scene.platforms.length];
    if (!platform) throw new Error("no platform");
    return platform;
  }

  async #fewerThan(most: number): Promise<void> {
    while (this.#open.size >= most) {
      const answered = Promise.withResolvers<void>();
      this.#wake = answered.resolve;
      const late = setTimeout(() => answered.reject(new Error(this.#account())), PATIENCE_MS);
      await answered.promise.finally(() => clearTimeout(late));
    }
  }

  #account(): string {
    const open = [...this.#open].slice(0, 20).join(" ");
    return `no more answers, not to ${open}: ${this.#tail()}`;
  }

  #tail(): string {
    const lines = this.#scene.gateway.lines.slice(-20);
    return lines.map((line) => JSON.stringify(line)).join("\n");
  }

  #measure(): void {
    const status = readFileSync(`/proc/${this.#scene.gateway.pid}/status`, "utf8");
    this.#memory.push(Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024));
    // What the model was asked is of no use here, and much.
    const calls: unknown = this.#scene.model.calls;
    if (Array.isArray(calls)) calls.length = 0;
  }

  /** Waits until the journal has nothing left to do; gives the rows that have no end all the same. */
  async #settle(): Promise<number> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const [row] = this.#rows(
        "SELECT (SELECT count(*) FROM inbox WHERE state <> 'done') +" +
          " (SELECT count(*) FROM outbox WHERE state NOT IN ('sent', 'failed')) AS n",
      );
      const left = Number(row?.["n"]);
      if ((left === 0 && this.#isHeard()) || performance.now() > deadline) return left;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** What was said last may still lie with a platform whose connection broke just then. */
  #isHeard(): boolean {
    if (this.#open.size === 0) return true;
    const givenUp = new Set(this.#givenUp());
    return [...this.#open].every((mark) => givenUp.has(mark));
  }

  /** Marks whose answer was sent twice over connections that broke both times: nobody knows, and the journal says so. */
  #givenUp(): readonly string[] {
    const rows = this.#rows(
      "SELECT inbox.message FROM outbox JOIN inbox ON inbox.id = outbox.inbox_id" +
        " WHERE outbox.state = 'failed' AND outbox.error LIKE 'sent twice%'",
    );
    return rows.flatMap((row) => /please (no\d+\.)/.exec(String(row["message"]))?.[1] ?? []);
  }

  #rows(sql: string): readonly Record<string, unknown>[] {
    const path = join(this.#scene.home.stateDir, "state", "journal.sqlite");
    const db = new DatabaseSync(path, { readOnly: true });
    try {
      return db.prepare(sql).all();
    } finally {
      db.close();
    }
  }

  #judge(): Pick<LoadReport, "labelled" | "givenUp" | "lost" | "doubled" | "outOfOrder"> {
    const givenUp = this.#givenUp();
    const lost: string[] = [];
    const doubled: string[] = [];
    const outOfOrder: string[] = [];
    let labelled = 0;
    for (const [chat, marks] of this.#said) {
      const shown = this.#platformOf(chat).shown(chat);
      labelled += shown.filter((text) => text.startsWith(LABEL)).length;
      const answers = shown.filter((text) => MARK.test(text));
      const order = answers.map((text) => marks.indexOf(MARK.exec(text)?.[0] ?? ""));
      const plain = order.filter((_at, index) => answers[index]?.startsWith(LABEL) === false);
      lost.push(...marks.filter((mark, at) => !order.includes(at) && !givenUp.includes(mark)));
      doubled.push(...marks.filter((_mark, at) => plain.filter((one) => one === at).length > 1));
      if (order.some((at, index) => at < (order[index - 1] ?? -1)))
        outOfOrder.push(`chat ${chat}: ${shown.join(" | ")}`);
    }
    return { labelled, givenUp, lost, doubled, outOfOrder };
  }
}

function configOf(platforms: readonly LoadedPlatform[], model: FakeModel): Record<string, unknown> {
  const open = { enabled: true, dmPolicy: "open", allowFrom: ["*"], streaming: { mode: "off" } };
  const models = [{ id: "fake-1", contextWindow: 100_000, maxTokens: 4096 }];
  return {
    models: { providers: { fake: { baseUrl: model.url, apiKey: "x", api: "openai-completions", models } } },
    agents: { defaults: { model: { primary: "fake/fake-1" }, heartbeat: { every: "0m" } } },
    messages: { queue: { mode: "followup", debounceMs: 0 } },
    session: { dmScope: "per-channel-peer" },
    channels: Object.fromEntries(platforms.map(({ id, channel }) => [id, { ...channel, ...open }])),
  };
}

/** A small generator, so that a failing seed can be run again. From zero to below one. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
