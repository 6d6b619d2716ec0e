import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { ADA, SELF } from "../../extensions/signal/test/fake-signal.ts";
import { SignalServer, writeFakeProgram } from "../../extensions/signal/test/signal-server.ts";
import { PATIENCE, isUp, type GatewayUnderTest, type Home } from "../kit/gateway/process.ts";
import { inboxOf } from "../kit/gateway/state-files.ts";
import { test, type World } from "../kit/gateway/world.ts";

let server: SignalServer;
let folder = "";

beforeEach(async () => {
  server = await SignalServer.start();
  folder = await mkdtemp(join(tmpdir(), "walk-signal-"));
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const config = async (world: World, more: Record<string, unknown> = {}) => {
  const signal = { account: SELF.number, cliPath: await writeFakeProgram(folder), dmPolicy: "open", allowFrom: ["*"] };
  return world.config({ channels: { telegram: { enabled: false }, signal: { ...signal, ...more } } });
};

async function start(home: Home): Promise<GatewayUnderTest> {
  const gateway = await home.start({ env: { ...server.env, OPENCLAW_SHUTDOWN_GRACE_MS: "300" } });
  await gateway.logged(isUp("signal"));
  return gateway;
}

const burst = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `message ${at}`);
const say = (texts: readonly string[]): void => texts.forEach((text) => server.say(text));
const stored = (home: Home): ReadonlySet<string> => new Set(inboxOf(home).map(({ text }) => text));
const expectStored = async (home: Home, texts: readonly string[]): Promise<void> =>
  vi.waitFor(() => expect(stored(home)).toEqual(new Set(texts)), PATIENCE);

test("a stop while messages arrive: each is in the journal, and is answered after the next start", async ({
  world,
}) => {
  const home = await world.home(await config(world));
  const first = await start(home);
  world.model.answer(() => "hang");
  say(burst(150));
  await server.acknowledged(10);
  expect(await first.kill("SIGTERM")).toBe(0);
  expect(stored(home).size + server.waiting).toBeGreaterThanOrEqual(150);
  await first.logged("signal-cli ended, and everything that it held is stored");
  world.script([]);
  await start(home);
  await expectStored(home, burst(150));
  await vi.waitFor(() => expect(inboxOf(home).every(({ state }) => state === "done")).toBe(true), PATIENCE);
});

test("a gateway that freezes and is killed: what signal-cli took meanwhile is answered", async ({ world }) => {
  const home = await world.home(await config(world));
  const first = await start(home);
  first.signal("SIGSTOP");
  say(burst(3));
  await server.acknowledged(3);
  await first.kill("SIGKILL");
  const second = await start(home);
  await second.logged("the earlier signal-cli ended, and everything that it held is stored");
  await expectStored(home, burst(3));
  expect(await second.kill("SIGTERM")).toBe(0);
  expect(await server.signalClis()).toEqual([]);
});

test("a change of the channel's config while messages arrive: each is in the journal", async ({ world }) => {
  const home = await world.home(await config(world));
  const gateway = await start(home);
  say(burst(200));
  await server.acknowledged(10);
  await home.writeConfig(await config(world, { mediaMaxMb: 20 }));
  await gateway.logged("signal-cli ended, and everything that it held is stored");
  say(burst(300).slice(200));
  await expectStored(home, burst(300));
});

test("a person whom another gateway let in by the phone number is let in", async ({ world }) => {
  const home = await world.home(await config(world, { dmPolicy: "pairing", allowFrom: [] }));
  const source = join(home.dir, "theirs");
  await mkdir(join(source, "credentials"), { recursive: true });
  await writeFile(join(source, "openclaw.json"), "{}");
  await writeFile(join(source, "credentials", "signal-allowFrom.json"), JSON.stringify([ADA.number]));
  expect((await home.run(["import", source])).stdout).toContain("People who were let in: 1 taken");
  await start(home);
  server.say("it is me");
  await expectStored(home, ["it is me"]);
  await vi.waitFor(() => expect(inboxOf(home).map(({ state }) => state)).toEqual(["done"]), PATIENCE);
  expect(world.model.calls.map(({ said }) => said)).toEqual([expect.stringContaining("it is me")]);
});
