import { createHash } from "node:crypto";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { type GatewayUnderTest, type Home, PATIENCE } from "../../kit/gateway/process.ts";
import { call } from "../../kit/gateway/rpc.ts";
import { test, type World } from "../../kit/gateway/world.ts";
import { ADA, BO, CONFIG, KEPT, order, runJob, say, sayOnPage, usedState } from "./used-state.ts";

/** As `cp -a` does it. */
async function copyOf(world: World, { stateDir }: Home): Promise<Home> {
  const copy = await world.home(world.config(CONFIG));
  rmSync(copy.stateDir, { recursive: true });
  cpSync(stateDir, copy.stateDir, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  return copy;
}

/** The files below a directory. What packages of plugins lead to is not entered: other tests write there. */
const filesBelow = (dir: string): readonly string[] =>
  readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    if (entry.isDirectory() && entry.name !== "node_modules") return filesBelow(path);
    return entry.isFile() ? [path] : [];
  });

/** A hash of each file below a directory. */
function hashes(dir: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    filesBelow(dir).map((path) => [path, createHash("sha256").update(readFileSync(path)).digest("hex")]),
  );
}

const filesWith = (dir: string, text: string): readonly string[] =>
  Object.keys(hashes(dir)).filter((path) => readFileSync(path).includes(text));

/** Does in a home a bit of everything that was done in it before. `word` is in all of it. */
async function goOn(world: World, { stateDir }: Home, gateway: GatewayUnderTest, word: string): Promise<void> {
  await say(world, `${word} on the phone`);
  await say(world, order("write", { path: `memory/${word}.md`, content: `# ${word}\n` }));
  await say(world, order("memory_search", { query: "Which code opens the gate?" }));
  await say(world, order("exec", { command: `echo ${word} > ${word}.txt; pwd` }));
  await say(world, order("sessions_spawn", { task: `count ${word}`, label: word }));
  await world.told(/quote this message/, ADA);
  await say(world, `${word} before`, BO);
  await say(world, "/new", BO);
  await say(world, `${word} after`, BO);
  await sayOnPage(gateway, KEPT, `${word} on the page`);
  await call(gateway, "sessions.delete", { key: KEPT });
  await sayOnPage(
    gateway,
    "agent:second:webchat:x",
    order("write", { path: `${word}.md`, content: word }),
    "did: Wrote",
  );
  expect(await runJob(gateway)).toMatch(new RegExp(`^${stateDir}/workspace/garden\n`));
  expect(existsSync(join(stateDir, "workspace-second", `${word}.md`))).toBe(true);
}

test("a copy and its original work in their own files, one after the other and side by side", async ({ world }) => {
  const { home: first, gateway } = await usedState(world);
  expect(await gateway.kill()).toBe(0);
  const copy = await copyOf(world, first);

  const original = hashes(first.stateDir);
  let second = await copy.start();
  await goOn(world, copy, second, "walnut");
  // The model is shown the files of the copy, also in what was said before.
  const asked = world.model.calls.filter(({ said }) => said.includes("walnut on the phone")).at(-1);
  expect(JSON.stringify(asked?.messages)).toContain(`[media attached: ${copy.stateDir}/media/`);
  expect(JSON.stringify([asked?.messages, asked?.system])).not.toContain(first.stateDir);
  expect(await second.kill()).toBe(0);
  expect(hashes(first.stateDir)).toEqual(original);

  const copied = hashes(copy.stateDir);
  let again = await first.start();
  await goOn(world, first, again, "hazel");
  expect(await again.kill()).toBe(0);
  expect(hashes(copy.stateDir)).toEqual(copied);

  [again, second] = await Promise.all([first.start(), copy.start()]);
  await Promise.all([
    sayOnPage(again, "agent:main:webchat:both", "said to the chestnut"),
    sayOnPage(second, "agent:main:webchat:both", "said to the almond"),
  ]);
  await Promise.all([call(again, "sessions.reset", { key: KEPT }), call(second, "sessions.reset", { key: KEPT })]);
  expect([await again.kill(), await second.kill()]).toEqual([0, 0]);
  expect(filesWith(first.stateDir, "chestnut").length).toBeGreaterThan(0);
  expect(filesWith(copy.stateDir, "almond").length).toBeGreaterThan(0);
  expect(filesWith(first.stateDir, "almond")).toEqual([]);
  expect(filesWith(copy.stateDir, "chestnut")).toEqual([]);
});

test("a copy of a running gateway's directory starts, and its commands mean the copy", async ({ world }) => {
  const { home: first, gateway } = await world.start({ channels: { telegram: { enabled: false } } });
  await sayOnPage(gateway, KEPT, "said to the original");
  const copy = await copyOf(world, first);
  // It has the port of the original, which runs.
  const config: object = JSON.parse(readFileSync(copy.configPath, "utf8"));
  await copy.writeConfig({ ...config, gateway: { port: gateway.port } });

  expect((await copy.run(["gateway", "stop"])).stdout).toContain("No gateway runs on");
  const asked = await copy.run(["agent", "--message", "meant for the copy"]);
  expect(asked.code).not.toBe(0);
  expect(asked.stderr).toContain(`the state directory ${first.stateDir}`);
  expect((await copy.run(["sessions", "show", KEPT])).stdout).toContain("said to the original");

  await copy.writeConfig({ ...config, gateway: { port: 0 } });
  const second = await copy.start();
  const told = `is a copy of ${first.stateDir}, whose gateway runs (pid ${gateway.pid} on port ${gateway.port})`;
  await second.logged(({ msg }) => String(msg).includes(told));
  expect((await copy.run(["status"])).stdout).toContain(told);
  expect((await copy.run(["doctor", "--only", "app.copy"])).stdout).toContain(told);
  expect((await first.run(["status"])).stdout).not.toContain("is a copy of");
  expect((await copy.run(["gateway", "instance", "--renew"])).stdout).not.toContain(first.stateDir);
  expect((await copy.run(["status"])).stdout).not.toContain("is a copy of");
  await sayOnPage(second, KEPT, "said to the copy");
  await sayOnPage(gateway, KEPT, "said to the original again");
  expect(await second.kill()).toBe(0);
  expect(await gateway.kill()).toBe(0);
  expect(filesWith(first.stateDir, "to the copy")).toEqual([]);
  expect(filesWith(copy.stateDir, "original again")).toEqual([]);
});

test("the agents of a copy work in its own folders, also where the config names those of the original", async ({
  world,
}) => {
  const home = await world.home(world.config({ channels: { telegram: { enabled: false } } }));
  const named = { list: [{ id: "main" }, { id: "second", workspace: join(home.stateDir, "workspace-second") }] };
  await home.writeConfig({
    ...world.config({ channels: { telegram: { enabled: false } } }),
    agents: { ...modelOf(world), ...named },
  });
  const gateway = await home.start();
  expect(await gateway.kill()).toBe(0);
  const copy = await copyOf(world, home);
  world.model.answer((asked) =>
    asked.isAfterTool ? { text: "did it" } : { tool: "write", args: { path: "walnut.md", content: "x" } },
  );
  const second = await copy.start();
  await sayOnPage(second, "agent:second:webchat:x", "write it", "did it");
  await vi.waitFor(() => expect(existsSync(join(copy.stateDir, "workspace-second", "walnut.md"))).toBe(true), PATIENCE);
  expect(existsSync(join(home.stateDir, "workspace-second", "walnut.md"))).toBe(false);
  const doctor = await copy.run(["doctor"]);
  expect(doctor.stdout).toContain(
    `names where this state directory was before; ${copy.stateDir}/workspace-second is used`,
  );
});

const modelOf = (world: World): object => Object(world.config()["agents"]);
