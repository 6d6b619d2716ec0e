import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LineBatches } from "../../../src/automation/cron/watch/batches.ts";
import type { WatchedCommand } from "../../../src/automation/cron/watch/watch.ts";
import { openCronWorld, type CronBoot, type CronWorld } from "../../kit/automation/cron.ts";
import { manualClock } from "../../kit/clock.ts";
import { until } from "../../kit/until.ts";

const START = Date.parse("2026-11-26T08:00:00Z");
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const stream = { kind: "stream", command: ["tail", "-f", "log"] };

/** A command of the machine. */
class FakeCommand implements WatchedCommand {
  ended: string | undefined;
  isStopped = false;
  #text = "";
  #wake: () => void = () => undefined;

  news(signal: AbortSignal): Promise<void> {
    if (this.#text !== "" || this.ended !== undefined) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  take(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.end("It was ended.");
  }

  write(text: string): void {
    this.#text += text;
    this.#wake();
  }

  end(how: string): void {
    this.ended = how;
    this.#wake();
  }
}

let world: CronWorld;
let boot: CronBoot;
let commands: FakeCommand[];

beforeEach(async () => {
  world = await openCronWorld(START);
  commands = [];
  world.watch = async () => {
    const command = new FakeCommand();
    commands.push(command);
    return command;
  };
  await start();
});
afterEach(async () => {
  await boot.kill();
  await world.close();
});

async function start(): Promise<void> {
  boot = await world.boot();
  boot.scheduler.start();
}

async function add(schedule: object): Promise<string> {
  const job = { schedule, payload: { kind: "agentTurn", message: "look" }, delivery: { mode: "none" } };
  const added = await boot.desk.add(job, { setUpBy: "owner" });
  if (!("view" in added)) throw new Error(JSON.stringify(added));
  return added.view.id;
}

const texts = () => world.begun.map(({ text }) => text.replace(/^[^]*---\n/, "").replace(/\n<<<END[^]*$/, ""));
const records = async () => (await world.journal.cron.runs({ limit: 50, offset: 0 })).runs;
/** Lets what is under way get as far as it can without time. */
const settle = async () => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise<void>((resolve) => void setImmediate(resolve));
};

async function commandNumber(count: number): Promise<FakeCommand> {
  await until(() => commands.length >= count);
  const command = commands[count - 1];
  if (!command) throw new Error("no command");
  return command;
}

describe("a stream", () => {
  it("has one batch running and one waiting, into which the rest goes, and begins twice a minute at most", async () => {
    await add(stream);
    const command = await commandNumber(1);
    let running: (typeof world.begun)[number] | undefined;
    world.outcome = (message) => {
      running = message;
      return undefined;
    };
    command.write("one\n");
    await settle();
    world.clock.pass(300);
    await until(() => world.begun.length === 1);
    for (const line of ["two", "three", "four"]) {
      command.write(`${line}\n`);
      await settle();
      world.clock.pass(300);
      await settle();
    }
    expect(texts()).toEqual(["one"]);
    if (running) await world.end(running, { kind: "replied" });
    await until(async () => (await records()).length === 1);
    world.clock.pass(10 * SECOND);
    await settle();
    expect(world.begun).toHaveLength(1);
    world.clock.pass(20 * SECOND);
    await until(() => world.begun.length === 2);
    expect(texts()).toEqual(["one", "two\nthree\nfour"]);
  });

  it("that ends soon is started again, later each time, and is switched off after five times", async () => {
    const id = await add(stream);
    for (let count = 1; count <= 5; count += 1) {
      (await commandNumber(count)).end("[exit code 1]");
      await until(async () => (await records()).length === count);
      await settle();
      world.clock.pass(20 * MINUTE);
    }
    await until(() => boot.desk.get(id)?.enabled === false);
    world.clock.pass(60 * MINUTE);
    await settle();
    expect(commands).toHaveLength(5);
    expect(boot.desk.get(id)).toMatchObject({ state: { autoDisabled: { reason: "consecutive-failures" } } });
    expect(world.alerts.length).toBeGreaterThan(0);
    expect(world.begun).toHaveLength(0);
  });

  it("that ran for a while is started again without a word", async () => {
    await add(stream);
    const first = await commandNumber(1);
    await settle();
    world.clock.pass(2 * MINUTE);
    first.end("[exit code 0]");
    await settle();
    world.clock.pass(MINUTE);
    await commandNumber(2);
    expect(await records()).toEqual([]);
  });

  it("ends with its job, and nothing of it begins afterwards", async () => {
    const id = await add(stream);
    const command = await commandNumber(1);
    command.write("late\n");
    await boot.desk.update(id, { enabled: false });
    await until(() => command.isStopped);
    world.clock.pass(MINUTE);
    await settle();
    expect(world.begun).toHaveLength(0);
    await boot.desk.update(id, { enabled: true });
    const second = await commandNumber(2);
    await boot.desk.update(id, { schedule: { ...stream, command: ["other"] } });
    await until(() => second.isStopped);
    await boot.desk.remove(id);
    await until(() => commands.every(({ isStopped }) => isStopped));
  });
});

describe("the end of a command", () => {
  it("begins its job once, whenever the process is killed", async () => {
    await add({ kind: "on-exit", command: "make" });
    const killed = new Promise<void>((resolve) => {
      world.accepted = () => resolve(boot.kill());
    });
    (await commandNumber(1)).end("[exit code 0]");
    await killed;
    world.accepted = () => undefined;
    await start();
    (await commandNumber(2)).end("[exit code 0]");
    await until(async () => (await records()).length === 1);
    expect(world.begun).toHaveLength(1);
    expect(texts()).toEqual(["[exit code 0]"]);
  });

  it("that cannot be started decides nothing about a schedule that has replaced its own", async () => {
    const starts: ((refusal: string) => void)[] = [];
    world.watch = () => new Promise((resolve) => void starts.push(resolve));
    const id = await add({ kind: "on-exit", command: "make" });
    await until(() => starts.length === 1);
    const updating = boot.desk.update(id, { schedule: { kind: "at", at: "1h" } });
    starts[0]?.("it may not run");
    await updating;
    await settle();
    expect([boot.desk.get(id)?.enabled, await records()]).toEqual([true, []]);
  });

  it("is not waited for again while the run that it has begun goes on", async () => {
    world.outcome = () => undefined;
    await add({ kind: "on-exit", command: "make" });
    (await commandNumber(1)).end("[exit code 0]");
    await until(() => world.begun.length === 1);
    await until(() => boot.desk.status().running === 1);
    await boot.kill();
    await start();
    await settle();
    expect(commands).toHaveLength(1);
  });
});

describe("batches of lines", () => {
  const batchesOf = (more: object, clock = manualClock(START)) => {
    const closed: string[] = [];
    const batches = new LineBatches({ mode: "line", batchMs: 250, maxBatchBytes: 1024, ...more }, clock, (batch) =>
      closed.push(batch),
    );
    return { batches, closed, clock };
  };

  it("end when nothing more comes for a while", () => {
    const { batches, closed, clock } = batchesOf({});
    batches.take("a\nb");
    clock.pass(200);
    batches.take("c\r\n\n");
    clock.pass(200);
    expect(closed).toEqual([]);
    clock.pass(50);
    expect(closed).toEqual(["a\nbc"]);
    batches.take("rest");
    batches.end();
    expect(closed).toEqual(["a\nbc", "rest"]);
  });

  it("have whole characters, and say where they are cut", () => {
    const { batches, closed } = batchesOf({});
    batches.take(`${"ü".repeat(600)}\n`);
    expect(closed).toEqual([`${"ü".repeat(512)}\n[truncated]`]);
  });

  it("have only lines that fit", () => {
    const { batches, closed } = batchesOf({ mode: "match", match: "^(failed|recovered):" });
    batches.take("ok: 1\nfailed: 2\nnot failed: 3\nrecovered: 4\n");
    batches.end();
    expect(closed).toEqual(["failed: 2\nrecovered: 4"]);
  });
});
