import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { ended, run, start, stateDir } from "../../kit/gateway/cli.ts";

const preload = new URL("loaded.mjs", import.meta.url).href;
const version = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"))).version;

async function loadedBy(args: readonly string[]): Promise<readonly string[]> {
  const env = { OPENCLAW_STATE_DIR: stateDir("{ gateway: { port: 1 } }") };
  const { err } = await ended(start(args, env, ["--import", preload]));
  return z.array(z.string()).parse(JSON.parse(/LOADED (.*)/.exec(err)?.[1] ?? "null"));
}

const HEAVY = /pi-ai|pi-agent|pi-coding|grammy|fastify|\/pino\/|\/ws\//;

test("--version prints the version and loads next to nothing", async () => {
  const { code, out } = await ended(start(["--version"]));
  expect([code, out]).toEqual([0, `${version}\n`]);
  expect(await loadedBy(["--version"])).toHaveLength(2);
});

test("--help loads the parser, no command and no SDK", async () => {
  const loaded = await loadedBy(["--help"]);
  expect(loaded.filter((url) => HEAVY.test(url) || url.includes("/cli/commands/") || url.includes("/zod/"))).toEqual(
    [],
  );
});

test("commands load neither models nor channels nor the server", async () => {
  for (const args of [["config", "get", "gateway.port"], ["sessions"], ["pairing", "list"], ["logs"], ["dashboard"]]) {
    const loaded = await loadedBy(args);
    expect(loaded.some((url) => url.includes("/cli/commands/"))).toBe(true);
    expect(
      loaded.filter((url) => HEAVY.test(url)),
      args.join(" "),
    ).toEqual([]);
  }
});

test("help goes to standard output and is no failure", async () => {
  for (const args of [[], ["--help"], ["help"]]) {
    const { code, out, err } = await run(args);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("Usage: openclaw");
    expect(out).toContain("doctor");
  }
  const help = await run(["gateway", "run", "--help"]);
  expect(help.out).toContain("--port <port>");
  expect(await run(["help", "gateway", "run"])).toEqual(help);
  expect((await run(["help", "plugins", "info"])).out).toContain("--runtime");
  expect((await run(["help", "gateway", "stauts"])).err).toContain("Did you mean status?");
});

test("a word or flag that does not exist is exit code 2, with the one that was meant", async () => {
  const cases: [string[], string, string][] = [
    [["stauts"], "unknown command 'stauts'", "Did you mean status?"],
    [["gateway", "stauts"], "unknown command 'stauts'", "Did you mean status?"],
    [["config", "gte", "x"], "unknown command 'gte'", "Did you mean get?"],
    [["status", "--jsno"], "unknown option '--jsno'", "Did you mean --json?"],
    [["sessions", "lst"], "unknown command 'lst'", "Did you mean list?"],
    [["gateway", "--port", "abc"], "It must be a whole number", "openclaw gateway --help"],
    [["agent"], "'-m, --message <text>' not specified", "openclaw agent --help"],
    [["config"], "A command is missing.", "openclaw config --help"],
    [["agent", "-m", "x", "--thinking", "lots"], "Allowed choices are", "openclaw agent --help"],
    [["agent", "-m", " "], "The message is empty.", "-m <text>"],
    [["agent", "-m", "x", "--local", "--to", "1"], "--to needs the gateway", "--session-key"],
  ];
  for (const [args, problem, fix] of cases) {
    const { code, out, err } = await run(args);
    expect([code, out], args.join(" ")).toEqual([2, ""]);
    expect(err).toMatch(/^error USAGE: .*\nfix: .*\n$/);
    expect(err).toContain(problem);
    expect(err).toContain(fix);
  }
});

test("a reader that goes away ends the command quietly", async () => {
  const child = start(["config", "schema"], { OPENCLAW_STATE_DIR: stateDir() });
  child.stdout.destroy();
  const { code, err } = await ended(child);
  expect([code, err]).toEqual([0, ""]);
});
