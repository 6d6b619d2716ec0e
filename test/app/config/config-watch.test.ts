import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/app/config/load.ts";
import { watchConfig } from "../../../src/app/config/edit/watch.ts";

let dir = "";
let path = "";
let stop = new AbortController();
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "config-watch-"));
  path = join(dir, "openclaw.json");
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  rmSync(dir, { recursive: true, force: true });
});

async function start(text: string) {
  writeFileSync(path, text);
  const load = () => loadConfig({ path, env: {} });
  return watchConfig({ current: await load(), load, debounceMs: 10, signal: stop.signal });
}
const write = (text: string) => {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
};

describe("a watched config", () => {
  it("reports what applies at once, which channels restart and what waits for a restart", async () => {
    const events = await start('{ gateway: { port: 1 }, channels: { a: { botToken: "1" } } }');
    const next = events.next();
    write(
      '{ gateway: { port: 2 }, channels: { a: { botToken: "2" }, b: {} }, messages: { queue: { cap: 3 } }, cron: { enabled: false }, logging: { level: "debug", file: "x" } }',
    );
    const { value } = await next;
    expect(value).toMatchObject({
      kind: "valid",
      live: ["messages.queue.cap", "cron.enabled", "logging.level"],
      channels: ["a", "b"],
      restart: ["gateway.port", "logging.file"],
    });
    expect(JSON.stringify(value)).not.toContain('"2"');
  });

  it("keeps the one in force while the file is wrong, and compares with it afterwards", async () => {
    const events = await start("{ gateway: { port: 1 } }");
    const broken = events.next();
    write("{ gateway: { prt: 1 } }");
    expect((await broken).value).toMatchObject({ kind: "invalid", error: { code: "CONFIG_INVALID" } });
    const mended = events.next();
    // Same meaning as at the start, then a real change: only the second is an event.
    write("{ gateway: { port: 1, }, }");
    write("{ gateway: { port: 1 }, tools: { profile: 'coding' } }");
    expect((await mended).value).toMatchObject({ kind: "valid", changed: ["tools.profile"], restart: [] });
  });

  it("keeps the present one while the file is missing, and logs when it is back", async () => {
    const text = "{ gateway: { port: 1 }, tools: { deny: ['exec'] } }";
    const events = await start(text);
    const gone = events.next();
    rmSync(path);
    expect((await gone).value).toMatchObject({ kind: "invalid", error: { code: "CONFIG_UNREADABLE" } });
    const back = events.next();
    write(text);
    expect((await back).value).toMatchObject({ kind: "valid", changed: [] });
  });

  it("sees a change that came before the watching, and ends on abort", async () => {
    const events = await start("{}");
    write("{ session: { idleMinutes: 5 } }");
    expect((await events.next()).value).toMatchObject({ live: ["session.idleMinutes"] });
    const last = events.next();
    stop.abort();
    expect(await last).toEqual({ done: true, value: undefined });
  });
});
