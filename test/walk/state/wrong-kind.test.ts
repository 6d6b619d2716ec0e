import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Home } from "../../kit/gateway/process.ts";
import { test } from "../../kit/gateway/world.ts";

/** Every file that a gateway makes in its state directory; not those of a day, of an agent, or of its sandbox. */
function ownFiles(home: Home): readonly string[] {
  return readdirSync(home.stateDir, { recursive: true, encoding: "utf8" }).filter(
    (name) => statSync(join(home.stateDir, name)).isFile() && !/^(?:logs|workspace)\/|\.bpf$|-(?:wal|shm)$/.test(name),
  );
}

/** What a command says of an error that it does not know. */
const BUG = /^error: /m;

test("a directory in the place of any file of the state is named by every command, and ends no start without a code", async ({
  world,
}) => {
  const { home, gateway } = await world.start();
  expect((await home.run(["agent", "-m", "hello"])).code).toBe(0);
  expect(await gateway.kill()).toBe(0);
  const files = ownFiles(home);
  expect(files).toEqual(expect.arrayContaining(["state/instance.json", "state/places.json"]));
  // A start that ends in order leaves neither.
  for (const file of [...files, "state/boots.json", "state/gateway.lock"]) {
    const path = join(home.stateDir, file);
    const aside = join(home.dir, "aside");
    const was = files.includes(file);
    if (was) renameSync(path, aside);
    mkdirSync(path);
    for (const args of [["status"], ["doctor"], ["sessions", "list"]]) {
      const { stdout, stderr } = await home.run(args);
      expect([file, args.join(" "), stderr], stdout).toEqual([file, args.join(" "), expect.not.stringMatching(BUG)]);
    }
    const started = await home.start().then(
      async (running) => `ended with ${await running.kill()}`,
      (error: unknown) => String(error),
    );
    expect(started, file).not.toMatch(BUG);
    expect(started, file).toMatch(/ended with 0|error [A-Z_]+: /);
    rmSync(path, { recursive: true });
    if (was) renameSync(aside, path);
  }
});

test("a state directory that is a file is named by every command", async ({ world }) => {
  const home = await world.home();
  const file = join(home.dir, "a-file");
  writeFileSync(file, "mine");
  for (const args of [
    ["setup"],
    ["status"],
    ["doctor"],
    ["gateway", "run"],
    ["backup", "create"],
    ["config", "set", "gateway.port", "1"],
  ]) {
    const { code, stderr } = await home.run(args, { OPENCLAW_STATE_DIR: file, OPENCLAW_CONFIG_PATH: "" });
    expect([args.join(" "), code, stderr]).toEqual([
      args.join(" "),
      78,
      expect.stringMatching(new RegExp(`^error [A-Z_]+: .*${file}`)),
    ]);
  }
});
