import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe } from "vitest";
import type { GatewayUnderTest } from "../kit/gateway/process.ts";
import { test, type World } from "../kit/gateway/world.ts";

/** Milliseconds of computing for which the gateway may keep others waiting. */
const MOST_WAIT_MS = 150;
/** How often the control is asked: seldom enough to leave a processor to the gateway. */
const CONTROL_EVERY_MS = 500;
const MEGABYTE = 1024 * 1024;
/** For a hundred calls on a machine that has other work to do. */
const PATIENCE_MS = 240_000;
/** What the page shows and the model gets of one result. */
const MOST_RESULT = 53 * 1024;

type Call = readonly [tool: string, args: Record<string, unknown>];

/** Everything that a file tool should not fall over. */
async function makeHostile(dir: string): Promise<readonly string[]> {
  await mkdir(dir, { recursive: true });
  const at = (name: string) => join(dir, name);
  await writeFile(at("matches.txt"), "aaaa ".repeat(3_000_000));
  await writeFile(at("line.txt"), Buffer.alloc(50 * MEGABYTE, "ba"));
  await writeFile(at("lines.txt"), "a\n".repeat(2_000_000));
  await writeFile(at("latin1.txt"), Buffer.from([0x61, 0xfc, 0xff, 0xfe, 0x0a, 0x61]));
  await writeFile(at("binary"), Buffer.from(Array.from({ length: 100_000 }, (_, index) => (index * 7919) % 256)));
  await writeFile(
    at("zero-first.txt"),
    Buffer.concat([Buffer.from("aaa\n"), Buffer.alloc(100_000), Buffer.from("aaa\n")]),
  );
  await writeFile(at("a\nname\u001B[2J.txt"), "aaa\n");
  await writeFile(at("holes.txt"), "a".repeat(100_000));
  await truncate(at("holes.txt"), 2 ** 40);
  execFileSync("mkfifo", [at("pipe")]);
  await symlink("/dev/zero", at("device"));
  await symlink("loop", at("loop"));
  await symlink("/proc/self/environ", at("environment"));
  await mkdir(at("many"));
  for (let from = 0; from < 10_000; from += 500)
    await Promise.all(Array.from({ length: 500 }, (_, index) => writeFile(at(`many/${from + index}.txt`), "aaa\n")));
  // Longer than any path may be.
  execFileSync(
    "sh",
    ["-c", "for i in $(seq 600); do mkdir dddddddddd && cd -P dddddddddd || exit; done; echo aaa > deep.txt"],
    { cwd: dir },
  );
  const names =
    "matches.txt line.txt lines.txt latin1.txt binary zero-first.txt holes.txt pipe device loop environment many dddddddddd none";
  return [...names.split(" "), "a\nname\u001B[2J.txt", "."];
}

const callsFor = (paths: readonly string[]): readonly Call[] => [
  ...paths.flatMap((path): Call[] => [
    ["read", { path }],
    ["ls", { path }],
    ["find", { path, pattern: "*" }],
    ["grep", { path, pattern: "a" }],
    ["edit", { path, oldText: "nowhere", newText: "x" }],
    ["write", { path: `${path}/x`, content: "x" }],
  ]),
  ["grep", { path: "lines.txt", pattern: "(?:a|aa|aaa)+$", context: 20 }],
  ["grep", { path: "latin1.txt", pattern: "(?:a{1000}){1000}" }],
  ["grep", { pattern: "a".repeat(200_000) }],
  ["grep", { pattern: "a", glob: "{".repeat(1000) }],
  ["find", { pattern: "**/".repeat(2000) }],
  ["exec", { command: "cat line.txt line.txt matches.txt" }],
  ["exec", { command: "yes aaaa | head -c 60000000; yes >&2", timeout: 1 }],
  ["exec", { command: "cat binary binary pipe", timeout: 0.5 }],
  ["exec", { command: "setsid sleep 30 & sleep 30", timeout: 0.5 }],
  ["exec", { command: "env" }],
];

/**
 * A program that computes as long as the gateway may before each answer. A busy machine makes both late, and this one
 * says by how much.
 */
async function startControl(): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const source = `require("node:http").createServer((_, response) => {
      const used = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
      for (const end = used() + ${MOST_WAIT_MS}; used() < end; );
      response.end("ok");
    }).listen(0, "127.0.0.1", function () { console.log(this.address().port); });`;
  const child = spawn(process.execPath, ["-e", source], { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = await once(child.stdout, "data");
  return { child, url: `http://127.0.0.1:${String(port).trim()}/` };
}

/** Asks both over and over until it is stopped; gives the longest that each of them kept others waiting. */
function watch(gateway: GatewayUnderTest, controlUrl: string) {
  const asked = [
    { url: `http://127.0.0.1:${gateway.port}/healthz`, everyMs: 10 },
    { url: controlUrl, everyMs: CONTROL_EVERY_MS },
  ];
  let isOn = true;
  const ask = async ({ url, everyMs }: (typeof asked)[number]): Promise<number> => {
    let worst = 0;
    while (isOn) {
      const before = performance.now();
      const { ok } = await fetch(url, { signal: AbortSignal.timeout(20_000) });
      if (!ok) throw new Error(`${url} is not well`);
      worst = Math.max(worst, performance.now() - before);
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
    return worst;
  };
  const asking = Promise.all(asked.map(ask));
  // A failure is told by whoever stops the watch.
  asking.catch(() => undefined);
  return async () => {
    isOn = false;
    const [ofGateway = Infinity, ofControl = 0] = await asking;
    return { gateway: ofGateway, control: ofControl };
  };
}

/** Lets the model make the calls one after the other within one turn; what each gave. */
async function make(calls: readonly Call[], world: World): Promise<readonly string[]> {
  const results: string[] = [];
  world.model.answer((call) => {
    if (call.isAfterTool) results.push(call.toolText);
    const [tool, args] = calls[results.length] ?? [];
    return tool === undefined || args === undefined ? { text: "all done" } : { tool, args };
  });
  world.telegram.say("go");
  await world.telegram.waitFor((call) => call.text.includes("all done"), PATIENCE_MS);
  return results;
}

const peakOf = (pid: number): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;

const CONFIG = {
  tools: { exec: { security: "full", ask: "off" } },
  agents: { defaults: { contextLimits: { toolResultMaxChars: 4000 } } },
  messages: { responsePrefix: "${BOT_HOME}" },
};
const VARIABLES = { BOT_HOME: "CANARY-referenced", DB_PASS: "CANARY-unknown", OPENAI_API_KEY_2: "CANARY-key" };

describe.runIf(process.platform === "linux")("hostile files", () => {
  test(
    "neither end, block nor fill the gateway, whatever tool is pointed at them",
    async ({ world, expect }) => {
      const home = await world.home(world.config(CONFIG));
      const workspace = join(home.stateDir, "workspace");
      const paths = await makeHostile(workspace);
      const control = await startControl();
      try {
        const gateway = await home.start({ env: VARIABLES });
        await gateway.logged("channel connected");
        // The first turn loads the libraries of models, which is no tool's doing.
        world.model.answer(() => ({ text: "loaded" }));
        world.telegram.say("hello");
        await world.told("loaded");
        const calls = callsFor(paths);
        const before = peakOf(gateway.pid);
        const stop = watch(gateway, control.url);
        const results = await make(calls, world);
        const waited = await stop();
        expect(results).toHaveLength(calls.length);
        expect(results.filter((text) => text === "" || text.length > MOST_RESULT)).toEqual([]);
        expect(results.filter((text) => text.includes("CANARY"))).toEqual([]);
        expect(waited.gateway).toBeLessThan(waited.control);
        expect((peakOf(gateway.pid) - before) / MEGABYTE).toBeLessThan(250);
        world.model.answer(() => ({ text: "still here" }));
        world.telegram.say("hello");
        await world.told("still here");
        expect(await gateway.kill()).toBe(0);
      } finally {
        control.child.kill("SIGKILL");
        execFileSync("rm", ["-rf", workspace]);
      }
    },
    2 * PATIENCE_MS,
  );
});
