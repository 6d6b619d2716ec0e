import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Command } from "commander";
import { z } from "zod";
import { buildProgram } from "../../../src/app/cli/run/program.ts";
import { bundledContributions } from "../../../src/app/contributions/extensions.ts";
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

const leaves = (command: Command): readonly Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
const nameOf = (command: Command): string =>
  command.parent ? `${nameOf(command.parent)} ${command.name()}`.trim() : "";
const all = leaves(
  buildProgram(
    {
      contributions: bundledContributions(),
      env: {},
      out: () => undefined,
      err: () => undefined,
      isTerminal: false,
      isErrTerminal: false,
      color: false,
      verbose: false,
    },
    "0",
  ).program,
);

test("with --json an error is also JSON on standard output, whatever failed", async () => {
  const env = { OPENCLAW_STATE_DIR: stateDir("{ gateway: { port: 1 } }") };
  const cases: [string[], string][] = [
    [["config", "get", "nope.x", "--json"], "NOT_FOUND"],
    [["health", "--json"], "GATEWAY_UNREACHABLE"],
    [["sessions", "list", "--json", "--bad"], "USAGE"],
    [["agents", "delete", "nobody", "--json"], "NOT_FOUND"],
    [["stauts", "--json"], "USAGE"],
  ];
  for (const [args, code] of cases) {
    const { out, err } = await run(args, env);
    const { error } = z.object({ error: z.record(z.string(), z.string()) }).parse(JSON.parse(out));
    expect(error, args.join(" ")).toEqual({ code, message: expect.any(String), fix: expect.any(String) });
    expect(err).toBe(`error ${code}: ${error["message"]}\nfix: ${error["fix"]}\n`);
  }
});

test("one word says yes, one limits lists, and what shows something can show it to scripts", () => {
  const flags = (command: Command) => command.options.filter(({ hidden }) => !hidden);
  const longs = (command: Command) => flags(command).map(({ long }) => long);
  const asks = all.filter((command) => flags(command).some(({ description }) => /do not ask/.test(description)));
  expect(asks.map(nameOf)).toEqual(expect.arrayContaining(["agents delete", "memory forget", "plugins uninstall"]));
  expect(asks.filter((command) => !longs(command).includes("--yes")).map(nameOf)).toEqual([]);
  const counts = all.filter((command) =>
    flags(command).some(({ description }) => /^most (?:entries|results) /.test(description)),
  );
  expect(counts.filter((command) => !longs(command).includes("--limit")).map(nameOf)).toEqual([]);
  const CHANGES =
    /^(?:gateway (?:run|stop)|sandbox recreate|mcp (?:login|logout|serve)|sessions export|completion|models (?:set|fallbacks .*|auth .*)|config unset|onboard|configure|reset|uninstall|plugins (?:reload|registry|validate|build|pack|search|marketplace|init)|channels (?:add|remove|login)|config schema)$/;
  const silent = all.filter((command) => !longs(command).includes("--json") && !CHANGES.test(nameOf(command)));
  expect(silent.map(nameOf)).toEqual([]);
});

test("commands of other gateways are answered with what does the same here", async () => {
  const names = new Set(all.map(nameOf));
  const others =
    "version,upgrade,restore,service,daemon,start,stop,restart,security audit," +
    "secrets,tui,chat,docs,path,sessions rotate,hooks uninstall";
  for (const words of others.split(",")) {
    const { code, out, err } = await run(words.split(" "));
    expect([code, out], words).toEqual([2, ""]);
    const [, fix = ""] = /^fix: (.*)$/m.exec(err) ?? [];
    expect(fix, words).not.toMatch(/^See `|Did you mean/);
    for (const [, named = ""] of fix.matchAll(/openclaw ((?:[a-z]+ ?)+)/g)) {
      const known = named.trim().split(" ");
      const isThere = known.some((_word, index) => names.has(known.slice(0, index + 1).join(" ")));
      expect(isThere, `${words}: ${named}`).toBe(true);
    }
  }
});
