import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";

const GUARD = pathToFileURL(join(import.meta.dirname, "../../../src/app/gateway/lifecycle/process-guard.ts")).href;

/** A process of its own with the guard, which runs `body` and prints what the guard logs. */
async function run(body: string): Promise<{ code: number | null; out: string }> {
  const script = `
    import { guardProcess } from ${JSON.stringify(GUARD)};
    const say = (level) => (message, { error } = {}) => console.log(level, message, error?.message ?? "");
    const log = { info: say("info"), warn: say("warn"), error: say("error"), flush: () => console.log("flushed") };
    const guard = guardProcess(log);
    guard.crashed.then(({ error }) => { console.log("shutting down after", error.message); ends(); });
    let ends = () => process.exit(3);
    ${body}`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const code = new Promise<number | null>((resolve) => child.once("exit", resolve));
  return { out: await text(child.stdout), code: await code };
}

test("a rejected promise is logged and ends nothing", async () => {
  const { out, code } = await run(`
    Promise.reject(new Error("stray"));
    setTimeout(() => { console.log("still here"); process.exit(0); }, 20);`);
  expect(out).toContain("error promise rejected, and nobody handled it stray");
  expect(out).toContain("still here");
  expect(code).toBe(0);
});

test("an uncaught exception is logged, and the process may shut down in order", async () => {
  const { out, code } = await run(`setTimeout(() => { throw new Error("torn"); }, 1);`);
  expect(out).toContain("error uncaught exception torn");
  expect(out).toContain("flushed");
  expect(out).toContain("shutting down after torn");
  expect(code).toBe(3);
});

test("a second exception during that shutdown ends the process at once", async () => {
  const { out, code } = await run(`
    ends = () => setTimeout(() => { throw new Error("again"); }, 1);
    setTimeout(() => { throw new Error("torn"); }, 1);`);
  expect(out).toContain("error uncaught exception again");
  expect(code).toBe(1);
});

test("a reader of the output that is gone ends nothing", async () => {
  const { out, code } = await run(`
    setTimeout(() => { throw Object.assign(new Error("write EPIPE"), { code: "EPIPE" }); }, 1);
    setTimeout(() => { console.log("still here"); process.exit(0); }, 20);`);
  expect(out).toContain("still here");
  expect(code).toBe(0);
});
