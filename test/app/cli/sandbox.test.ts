import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { run, stateDir } from "../../kit/gateway/cli.ts";

/** Without bubblewrap, so that the answers are the same on every machine. */
const cli = (dir: string, ...args: string[]) => run(["sandbox", ...args], { OPENCLAW_STATE_DIR: dir, PATH: "/none" });

const CONFIG = `{ agents: {
  defaults: { sandbox: { mode: "non-main" } },
  list: [{ id: "main" }, { id: "clerk", sandbox: { mode: "off" } }],
} }`;

/** A state directory in which two sessions have a folder of a sandbox. */
function withFolders(): { readonly dir: string; readonly folder: (name: string) => string } {
  const dir = stateDir(CONFIG);
  const folder = (name: string) => join(dir, "sandboxes", name);
  for (const [name, agent] of [
    ["agent-main", "main"],
    ["agent-clerk", "clerk"],
  ] as const) {
    mkdirSync(folder(name), { recursive: true });
    writeFileSync(join(folder(name), "note.txt"), "x");
    writeFileSync(`${folder(name)}.json`, JSON.stringify({ scope: "agent", agent, madeAt: Date.now() }));
  }
  return { dir, folder };
}

test("sandbox explain says what of a session is in the sandbox, why it does not work, and what mends it", async () => {
  const dir = stateDir(CONFIG);
  const { code, out } = await cli(dir, "explain", "--session", "telegram:default:direct:7");
  expect(code).toBe(0);
  expect(out).toMatch(/An owner's turn +commands and file tools are in the sandbox/);
  expect(out).toMatch(/Mode +non-main \(agents\.defaults\.sandbox\.mode\)/);
  expect(out).toMatch(/Mend +\S/);
  expect(out).toMatch(/Owners see +\S+sandboxes\/agent-main \(read, write\)/);
  expect(out).toMatch(/One process +4096 MiB of memory, 3600 s of processor time and 1024 MiB a file, by the kernel/);
  expect(out).toMatch(/A command +.*4096 MiB written, by the gateway/);
  expect(out).toMatch(/Tools +group:fs, exec, .*; never browser, .*cron.* \(tools\.sandbox\.tools\)/);
  expect(out).toMatch(/Leave it +owners \(tools\.elevated\.allowFrom is not set\)/);
  const clerk = await cli(dir, "explain", "--agent", "clerk", "--json");
  expect(JSON.parse(clerk.out)).toMatchObject({
    agent: "clerk",
    owner: { commands: false, files: false },
    probe: { ok: false },
    mounts: { owner: [expect.stringContaining("(read, write)")] },
    tools: { key: "tools.sandbox.tools" },
  });
});

test("sandbox explain refuses an agent that there is not, and names those that there are", async () => {
  const { code, err } = await cli(stateDir(CONFIG), "explain", "--agent", "nobody");
  expect(code).not.toBe(0);
  expect(err).toContain("main, clerk");
});

test("sandbox list shows the folders of the sandboxes, or that there is none", async () => {
  expect((await cli(stateDir(CONFIG), "list")).out).toBe("No sandbox has a folder.\n");
  const { dir, folder } = withFolders();
  expect((await cli(dir, "list")).out).toMatch(/SCOPE +AGENT[^]*agent +clerk[^]*agent +main/);
  const { folders } = JSON.parse((await cli(dir, "list", "--json")).out) as { folders: unknown };
  expect(folders).toMatchObject([{ path: folder("agent-clerk") }, { path: folder("agent-main") }]);
});

test("sandbox recreate removes the folders that are meant, and nothing when nobody can be asked", async () => {
  const { dir, folder } = withFolders();
  expect(await cli(dir, "recreate")).toMatchObject({ code: 2, err: expect.stringContaining("--all") });
  expect(await cli(dir, "recreate", "--all")).toMatchObject({ code: 2, err: expect.stringContaining("--yes") });
  expect(existsSync(folder("agent-main"))).toBe(true);
  expect((await cli(dir, "recreate", "--agent", "main", "--force")).out).toBe("1 folder is removed.\n");
  expect([existsSync(folder("agent-main")), existsSync(folder("agent-clerk"))]).toEqual([false, true]);
  expect((await cli(dir, "recreate", "--all", "--yes")).out).toBe("1 folder is removed.\n");
  expect(existsSync(folder("agent-clerk"))).toBe(false);
});
