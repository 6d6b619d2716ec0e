import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { until } from "../../kit/until.ts";
import { jsonLinesIn } from "../../kit/json-lines.ts";

const source = (path: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, "../../../src", path)).href);

/** A process of its own that logs into `dir` and to its standard output, which nobody reads yet. */
function start(body: string) {
  const dir = mkdtempSync(join(tmpdir(), "log-process-"));
  const script = `
    import { createServer } from "node:http";
    import { openLog } from ${source("app/log/log.ts")};
    import { guardProcess } from ${source("app/gateway/lifecycle/process-guard.ts")};
    const log = openLog({ dir: ${JSON.stringify(dir)}, level: "info", consoleLevel: "info", consoleStyle: "json" });
    ${body}`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
    rmSync(dir, { recursive: true, force: true });
  });
  return { child, numbers: () => numbersIn(dir) };
}

/** The field `n` of each line, in the order of the file. */
function numbersIn(dir: string): readonly unknown[] {
  const [name = "none"] = readdirSync(dir);
  const lines = jsonLinesIn<{ n?: number }>(join(dir, name));
  return lines.map(({ n }) => n).filter((n) => n !== undefined);
}

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);

it("a standard output that nobody reads keeps nobody waiting, and the file has every line", async () => {
  const { child, numbers } = start(`
    let n = 0;
    const filler = "x".repeat(1000);
    const server = createServer((_, response) => response.end(String(n)));
    server.listen(0, "127.0.0.1", () => process.send(server.address().port));
    const timer = setInterval(() => {
      for (let i = 0; i < 100; i += 1) log.info("line", { n: n++, filler });
      if (n === 4000) clearInterval(timer);
    }, 1);
    process.on("message", () => { log.info("last"); process.disconnect(); server.close(); });`);
  const [port] = (await once(child, "message")) as [number];
  const health = async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).text();
  await until(async () => (await health()) === "4000");
  await until(() => numbers().length === 4000);
  expect(numbers()).toEqual(upTo(4000));
  const printing = text(child.stdout!);
  child.send("end");
  const printed = (await printing).trim().split("\n");
  const dropped = printed
    .map((line) => JSON.parse(line) as { lines?: number })
    .find(({ lines }) => lines !== undefined);
  const shown = printed.filter((line) => line.includes('"line"')).length;
  expect(shown).toBeGreaterThan(500);
  expect(dropped?.lines).toBeGreaterThanOrEqual(4000 - shown);
});

it.each([
  ["an exit", "process.exit(3);", 3],
  [
    "a crash",
    `guardProcess(log).crashed.then(() => process.exit(4)); setImmediate(() => { throw new Error("torn"); });`,
    4,
  ],
])("the last lines before %s are in the file, in order", async (_name, end, code) => {
  const { child, numbers } = start(`
    for (let n = 0; n < 2000; n += 1) {
      log.info("line", { n });
      if (n === 1000) await new Promise((resolve) => setImmediate(resolve));
    }
    ${end}`);
  child.stdout!.resume();
  expect(await once(child, "exit")).toEqual([code, null]);
  expect(numbers()).toEqual(upTo(2000));
});
