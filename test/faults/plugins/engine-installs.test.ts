import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { z } from "zod";
import type { GatewayUnderTest, Home } from "../../kit/gateway/process.ts";
import { call } from "../../kit/gateway/rpc.ts";
import { sessionsOf } from "../../kit/gateway/state-files.ts";
import { test, type World } from "../../kit/gateway/world.ts";
import {
  ofEngine,
  RECORDER,
  recordedBy,
  type RecordedCall,
  type RecordedMessage,
  TOO_LONG,
} from "../../kit/plugins/recorder.ts";
import { until } from "../../kit/until.ts";

/** What is installed, and from where: the words after `plugins install`. */
interface Way {
  readonly name: string;
  readonly words: readonly string[];
  /** Where the plugin is then. */
  readonly root: string;
}

async function waysOf({ dir, stateDir }: Home): Promise<readonly Way[]> {
  const [folder, linked, packs] = ["folder", "linked", "packs"].map((name) => join(dir, name)) as [
    string,
    string,
    string,
  ];
  for (const copy of [folder, linked]) cpSync(RECORDER, copy, { recursive: true });
  mkdirSync(packs);
  await promisify(execFile)("npm", ["pack", RECORDER, "--pack-destination", packs], { cwd: dir });
  const pack = join(packs, "openclaw-recorder-1.0.0.tgz");
  const installed = join(stateDir, "extensions", "recorder");
  return [
    { name: "path", words: [folder], root: installed },
    { name: "link", words: ["-l", linked], root: linked },
    { name: "archive", words: [pack], root: installed },
    { name: "npm-pack", words: [`npm-pack:${pack}`], root: installed },
  ];
}

/** One gateway process after the other over the same home. */
interface Place {
  readonly world: World;
  readonly home: Home;
  gateway: GatewayUnderTest;
}

const listed = z.looseObject({
  plugins: z.array(z.looseObject({ id: z.string(), state: z.string(), root: z.string() })),
});

async function loadedFrom({ gateway }: Place): Promise<string | undefined> {
  const { plugins } = listed.parse(await call(gateway, "plugins.loaded"));
  return plugins.find(({ id, state }) => id === "recorder" && state === "loaded")?.root;
}

async function install(place: Place, { words, root }: Way): Promise<void> {
  const done = await place.home.run(["plugins", "install", ...words, "--accept-capabilities"]);
  expect(done).toMatchObject({ code: 0 });
  expect(done.stdout).toContain('Exclusive slot "contextEngine" switched from "legacy" to "recorder".');
  expect(done.stdout).toContain("Installed plugin: recorder");
  await until(async () => (await loadedFrom(place)) === root);
}

const said = async ({ world: { telegram } }: Place, text: string): Promise<string> => {
  const before = telegram.shown(1001).length;
  telegram.say(text, { from: { id: 1001, first_name: "Ada" } });
  await telegram.waitFor(() => telegram.shown(1001).length > before);
  return telegram.shown(1001).at(-1) ?? "";
};

/** Says something; gives the calls of the engine until it is released. */
async function turn(place: Place, text: string): Promise<readonly RecordedCall[]> {
  const before = recordedBy(place.home).length;
  await said(place, text);
  const calls = () => ofEngine(recordedBy(place.home).slice(before));
  await until(() => calls().at(-1)?.call === "dispose");
  return calls();
}

const namesOf = (calls: readonly RecordedCall[]) => calls.map((one) => one.call);
const oneOf = (calls: readonly RecordedCall[], name: string) => calls.find((one) => one.call === name)!;

function expectWholeTurn(calls: readonly RecordedCall[], isFirst: boolean): void {
  const begin = isFirst ? [] : ["bootstrap", "maintain"];
  expect(namesOf(calls)).toEqual(["factory", ...begin, "assemble", "afterTurn", "maintain", "dispose"]);
  const { messages = [], prePromptMessageCount, inputProvenance, internalEvents } = oneOf(calls, "assemble").params;
  expect(prePromptMessageCount).toBe(messages.length - 1);
  expect(inputProvenance).toHaveLength(messages.length);
  expect(internalEvents).toHaveLength(messages.length);
  const { params, transcript = [] } = oneOf(calls, "afterTurn");
  const { messages: given = [] } = params;
  const said = ({ role, content }: RecordedMessage) => ({ role, content });
  expect(given.slice(-2).map(said)).toEqual(transcript.slice(-2).map(said));
  expect(given.slice(-2).map(({ role }) => role)).toEqual(["user", "assistant"]);
  expect(calls.findLast((one) => one.call === "maintain")?.params.runtimeContext).toMatchObject({
    allowDeferredCompactionExecution: true,
  });
}

async function restart(place: Place): Promise<void> {
  expect(await place.gateway.kill()).toBe(0);
  place.gateway = await place.home.start();
}

const pluginsIn = ({ configPath }: Home): unknown =>
  (JSON.parse(readFileSync(configPath, "utf8")) as { plugins: unknown }).plugins;

async function uninstall(place: Place, { name, root }: Way): Promise<void> {
  const { home, gateway, world } = place;
  const done = await home.run(["plugins", "uninstall", "recorder", "--force"]);
  expect(done).toMatchObject({ code: 0 });
  expect(done.stdout).toContain('Exclusive slot "contextEngine" switched from "recorder" to "legacy".');
  expect(pluginsIn(home)).toMatchObject({ entries: { recorder: { enabled: false } }, slots: {} });
  expect(existsSync(root)).toBe(name === "link");
  await gateway.logged("plugin unloaded");
  const before = recordedBy(home).length;
  expect(await said(place, `after ${name}`)).toBe(`answer to after ${name}`);
  expect(ofEngine(recordedBy(home).slice(before))).toEqual([]);
  // The transcript is the gateway's own: the conversation is whole without the engine.
  expect(JSON.stringify(world.model.calls.at(-1)?.messages)).toContain(`hello ${name}`);
}

test("an engine installed from a folder, by link, from an archive and through npm works, survives a restart, and is removed", async ({
  world,
}) => {
  const home = await world.home(world.config());
  const ways = await waysOf(home);
  const place: Place = { world, home, gateway: await home.start() };
  const refused = new Set<string>();
  world.model.answer((asked) => {
    const text = /(?:hello|overflow|later|after) [a-z-]+$/.exec(asked.said)?.[0] ?? "";
    if (text.startsWith("overflow") && !refused.has(text)) {
      refused.add(text);
      return TOO_LONG;
    }
    return { text: `answer to ${text}` };
  });
  for (const [at, way] of ways.entries()) {
    await install(place, way);
    expectWholeTurn(await turn(place, `hello ${way.name}`), at === 0);
    const manual = await turn(place, "/compact");
    expect(oneOf(manual, "compact").params).toMatchObject({ force: true, compactionTarget: "threshold" });
    const overflow = await turn(place, `overflow ${way.name}`);
    expect(oneOf(overflow, "compact").params).toMatchObject({ force: true, compactionTarget: "budget" });
    expect(world.telegram.shown(1001).at(-1)).toBe(`answer to overflow ${way.name}`);
    await restart(place);
    expect(await loadedFrom(place)).toBe(way.root);
    expectWholeTurn(await turn(place, `later ${way.name}`), false);
    await uninstall(place, way);
  }
  // The linked folder is its author's: nothing was added to it.
  expect(readdirSync(join(home.dir, "linked")).toSorted()).toEqual(readdirSync(RECORDER).toSorted());
  expect(Object.keys(sessionsOf(home))).toHaveLength(1);
});
