import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import type { Orders } from "./child.ts";
import { startFakeWhatsapp } from "./fake-whatsapp.ts";

const here = import.meta.dirname;

function child(orders: Orders) {
  const args = ["--conditions=source", "--import", path.join(here, "trust-fake.mjs"), path.join(here, "child.ts")];
  return spawn(process.execPath, [...args, JSON.stringify(orders)], { stdio: ["ignore", "ignore", "inherit"] });
}

test("no message is lost when the process is killed around the journal, and each keeps its key", async () => {
  const fake = await startFakeWhatsapp();
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), "whatsapp-kill-"));
  await fake.link(folder);
  const orders = { url: fake.url, folder, journal: path.join(folder, "journal") };
  const steps = ["before", "stored", "microtask", "tick", "later"] as const;
  for (const [at, die] of steps.entries()) {
    fake.say({ conversation: `message ${at}` });
    await once(child({ ...orders, die }), "exit");
  }
  const last = child({ ...orders, die: "never" });
  fake.say({ conversation: "the last" });
  await fake.settled();
  await expect.poll(() => fake.queue.length, { timeout: 10_000 }).toBe(0);
  last.kill("SIGTERM");
  expect(await once(last, "exit")).toEqual([0, null]);

  const rows = (await fs.readFile(orders.journal, "utf8")).trim().split("\n");
  const lines = rows.map((row) => JSON.parse(row) as { eventKey: string; text: string });
  const first = lines.filter(({ text }, at) => lines.findIndex((line) => line.text === text) === at);
  expect(first.map(({ text }) => text)).toEqual([...steps.map((_, at) => `message ${at}`), "the last"]);
  expect(new Set(lines.map(({ eventKey }) => eventKey)).size).toBe(steps.length + 1);
  await fake.close();
  await fs.rm(folder, { recursive: true, force: true });
});
