import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silenceSignalLogs } from "../link/log-filter.ts";
import type { Orders } from "./child.ts";
import { startFakeWhatsapp } from "./fake/fake-whatsapp.ts";
import type { FakeWhatsApp } from "./fake/fake-whatsapp.ts";
import { sayAlbum } from "./platform.ts";
import { GROUP } from "./fake/stanzas.ts";

const here = import.meta.dirname;
const PATIENCE = { timeout: 10_000, interval: 2 };

let fake: FakeWhatsApp;
let orders: Omit<Orders, "die">;

beforeEach(async () => {
  silenceSignalLogs();
  fake = await startFakeWhatsapp();
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), "whatsapp-kill-"));
  await fake.link(folder);
  orders = { url: fake.url, folder, journal: path.join(folder, "journal") };
});

afterEach(async () => {
  for (const each of children.splice(0)) each.kill("SIGKILL");
  await fake.close();
  await fs.rm(orders.folder, { recursive: true, force: true });
});

const children: ChildProcess[] = [];

function child(more: Partial<Orders> & Pick<Orders, "die">) {
  const args = ["--conditions=source", "--import", path.join(here, "trust-fake.mjs"), path.join(here, "child.ts")];
  const started = spawn(process.execPath, [...args, JSON.stringify({ ...orders, ...more })], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  children.push(started);
  return started;
}

async function stop(last: ReturnType<typeof child>): Promise<void> {
  last.kill("SIGTERM");
  expect(await once(last, "exit")).toEqual([0, null]);
}

interface Row {
  readonly eventKey: string;
  readonly text: string;
  readonly files: number;
}

async function journal(): Promise<readonly Row[]> {
  const rows = (await fs.readFile(orders.journal, "utf8")).trim().split("\n");
  return rows.map((row) => JSON.parse(row) as Row);
}

describe("the process is killed", () => {
  test("around the journal: no message is lost, and each keeps its key", async () => {
    const steps = ["before", "stored", "microtask", "tick", "later"] as const;
    for (const [at, die] of steps.entries()) {
      fake.say({ conversation: `message ${at}` });
      await once(child({ die }), "exit");
    }
    const last = child({ die: "never" });
    fake.say({ conversation: "the last" });
    await fake.settled();
    await expect.poll(() => fake.queue.length, PATIENCE).toBe(0);
    await stop(last);

    const lines = await journal();
    const first = lines.filter(({ text }, at) => lines.findIndex((line) => line.text === text) === at);
    expect(first.map(({ text }) => text)).toEqual([...steps.map((_, at) => `message ${at}`), "the last"]);
    expect(new Set(lines.map(({ eventKey }) => eventKey)).size).toBe(steps.length + 1);
  });

  test("while an album is collected: it is one message with all of its files", async () => {
    const points = [
      ...([1, 2, 4, 5] as const).flatMap((nth) => [{ die: "noting", nth } as const, { die: "noted", nth } as const]),
      { die: "before" } as const,
      { die: "stored" } as const,
    ];
    for (const [at, point] of points.entries()) {
      sayAlbum(fake, [`album ${at}`, "", ""]);
      await once(child(point), "exit");
    }
    const last = child({ die: "never" });
    sayAlbum(fake, ["the last", ""]);
    await fake.settled();
    await expect.poll(() => fake.queue.length, PATIENCE).toBe(0);
    await stop(last);

    const rows = new Map((await journal()).map((row) => [row.eventKey, row]));
    const expected = points.map((_, at) => ({ text: `album ${at}`, files: 3 }));
    expect([...rows.values()].map(({ text, files }) => ({ text, files }))).toEqual([
      ...expected,
      { text: "the last", files: 2 },
    ]);
  });

  test("as a message leaves: the key that sealed it never seals another, and it can be asked for again", async () => {
    // Which of the frames is the message is the library's business.
    for (const [at, frames] of [100, 1, 2, 3, 4, 5, 6].entries()) {
      await once(child({ die: "never", say: { text: `message ${at}`, frames } }), "exit");
    }
    const last = child({ die: "never", say: { text: "the last", frames: 0 } });
    await expect.poll(() => fake.shown.map(({ text }) => text), PATIENCE).toContain("the last");
    expect(fake.passedOver).toEqual([]);
    expect(fake.shown.map(({ id }) => id)).toEqual(fake.arrived);

    const left = [...fake.arrived];
    for (const id of left) fake.askAgain(id, GROUP);
    await expect.poll(() => fake.arrived, PATIENCE).toEqual([...left, ...left]);
    await stop(last);
  });
});
