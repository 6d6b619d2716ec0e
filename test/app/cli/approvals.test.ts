import { existsSync } from "node:fs";
import { chmod, lstat, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { run, stateDir } from "../../kit/gateway/cli.ts";

let dir: string;
let path: string;
beforeEach(() => {
  dir = stateDir(`{ agents: { list: [{ id: "main" }, { id: "clerk" }] } }`);
  path = join(dir, "exec-approvals.json");
});

const approvals = (...args: string[]) => run(["approvals", ...args], { OPENCLAW_STATE_DIR: dir });
const content = async () => JSON.parse(await readFile(path, "utf8"));
const put = (document: unknown) => writeFile(path, JSON.stringify(document), { mode: 0o600 });

const DOCUMENT = {
  version: 1,
  socket: { path: "/run/x.sock", token: "hunter2" },
  defaults: { ask: "always" },
  agents: {
    main: { future: 1, allowlist: [{ id: "1", pattern: "/bin/a", future: true }] },
    clerk: { allowlist: [{ pattern: "/bin/b" }] },
  },
  future: "kept",
};

async function newDocument(document: unknown): Promise<string> {
  const file = join(dir, "new.json");
  await writeFile(file, JSON.stringify(document));
  return file;
}

test("allowlist add makes the file for its owner alone, and adds a row once", async () => {
  expect(await approvals("allowlist", "add", "/usr/bin/rg")).toMatchObject({
    code: 0,
    out: "/usr/bin/rg is on the list of the agent main.\n",
  });
  const again = await approvals("allowlist", "add", "/usr/bin/rg");
  expect(again.out).toContain("was already");
  expect((await content()).agents).toEqual({
    main: { allowlist: [{ id: expect.stringMatching(/^[0-9a-f-]{36}$/), pattern: "/usr/bin/rg" }] },
  });
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("allowlist add is for the agent that it names, with a pattern for the arguments", async () => {
  await put(DOCUMENT);
  await approvals("allowlist", "add", "python3", "--agent", "clerk", "--arg-pattern", "^tool\\.py$");
  await approvals("allowlist", "add", "/bin/c", "--agent", "*");
  const { agents, ...rest } = await content();
  const { agents: before, ...unchanged } = DOCUMENT;
  expect(rest).toEqual(unchanged);
  expect(agents.main).toEqual(before.main);
  expect(agents.clerk.allowlist[1]).toMatchObject({ pattern: "python3", argPattern: "^tool\\.py$" });
  expect(agents["*"].allowlist).toMatchObject([{ pattern: "/bin/c" }]);
});

test("allowlist add refuses an agent that there is not and an expression that is none", async () => {
  expect(await approvals("allowlist", "add", "x", "--agent", "nobody")).toMatchObject({
    code: 1,
    err: expect.stringContaining("main, clerk"),
  });
  expect((await approvals("allowlist", "add", "x", "--arg-pattern", "(")).code).toBe(2);
  // Rows that would let nothing run.
  for (const program of ["python3", "/usr/bin/node", "make"])
    expect(await approvals("allowlist", "add", program)).toMatchObject({
      code: 2,
      err: expect.stringContaining("needs --arg-pattern"),
    });
  for (const program of ["env", "/usr/bin/ssh"])
    expect(await approvals("allowlist", "add", program, "--arg-pattern", "x")).toMatchObject({
      code: 2,
      err: expect.stringContaining("no row lets it run"),
    });
  expect(existsSync(path)).toBe(false);
});

test("allowlist remove takes rows of one agent by pattern or id, and says when there is none", async () => {
  await put(DOCUMENT);
  expect((await approvals("allowlist", "remove", "/bin/b")).code).toBe(1);
  expect(await content()).toEqual(DOCUMENT);
  expect((await approvals("allowlist", "remove", "1")).code).toBe(0);
  expect((await approvals("allowlist", "remove", "/bin/b", "--agent", "clerk", "--json")).code).toBe(0);
  const { agents } = await content();
  expect(agents).toEqual({ main: { future: 1, allowlist: [] }, clerk: { allowlist: [] } });
});

test("get shows limits and rows, never the token of the socket", async () => {
  await put(DOCUMENT);
  const { out } = await approvals("get");
  expect(out).toMatch(/defaults: security -, ask always[^]*main +\/bin\/a[^]*clerk +\/bin\/b/);
  const json = await approvals("get", "--agent", "clerk", "--json");
  expect(JSON.parse(json.out)).toMatchObject({
    path,
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    file: { version: 1, future: "kept", agents: { clerk: { allowlist: [{ pattern: "/bin/b" }] } } },
  });
  expect(Object.keys(JSON.parse(json.out).file.agents)).toEqual(["clerk"]);
  expect(out + json.out).not.toContain("hunter2");
});

test("get shows an empty document while there is no file, and makes none", async () => {
  expect(JSON.parse((await approvals("get", "--json")).out)).toMatchObject({ file: { version: 1 } });
  expect(existsSync(path)).toBe(false);
});

test("set replaces the document and keeps the socket", async () => {
  await put(DOCUMENT);
  const file = await newDocument({ version: 1, defaults: { security: "deny" }, socket: { token: "other" } });
  const { hash } = JSON.parse((await approvals("get", "--json")).out);
  expect((await approvals("set", "--file", file, "--base-hash", hash)).code).toBe(0);
  expect(await content()).toEqual({ version: 1, defaults: { security: "deny" }, socket: DOCUMENT.socket });
});

test("set refuses the hash of an older state", async () => {
  await put(DOCUMENT);
  const { hash } = JSON.parse((await approvals("get", "--json")).out);
  const changed = { ...DOCUMENT, defaults: { ask: "off" } };
  await put(changed);
  const file = await newDocument({ version: 1 });
  expect(await approvals("set", "--file", file, "--base-hash", hash)).toMatchObject({
    code: 75,
    err: expect.stringContaining("approvals get"),
  });
  expect(await content()).toEqual(changed);
});

test.each([{ version: 2 }, { version: 1, defaults: { security: "none" } }])(
  "set refuses %j, which is not valid",
  async (document) => {
    await put(DOCUMENT);
    expect((await approvals("set", "--file", await newDocument(document))).code).toBe(78);
    expect(await content()).toEqual(DOCUMENT);
  },
);

test("set needs one new document", async () => {
  expect((await approvals("set")).code).toBe(2);
  expect((await approvals("set", "--stdin", "--file", "x")).code).toBe(2);
  expect((await approvals("set", "--file", join(dir, "missing.json"))).code).toBe(2);
});

test("no command uses or changes a file that is torn, a link, or that others can write", async () => {
  const refuse = async () => {
    const file = await newDocument({ version: 1 });
    for (const args of [["get"], ["allowlist", "add", "x"], ["allowlist", "remove", "1"], ["set", "--file", file]])
      expect((await approvals(...args)).code).toBe(78);
  };
  await put(DOCUMENT);
  await chmod(path, 0o666);
  await refuse();
  expect(await content()).toEqual(DOCUMENT);
  await chmod(path, 0o600);
  await writeFile(path, '{"version":1,');
  await refuse();
  expect(await readFile(path, "utf8")).toBe('{"version":1,');
  const other = join(dir, "other.json");
  dir = stateDir("{}");
  path = join(dir, "exec-approvals.json");
  await writeFile(other, JSON.stringify(DOCUMENT), { mode: 0o600 });
  await symlink(other, path);
  await refuse();
  expect((await lstat(path)).isSymbolicLink()).toBe(true);
  expect(JSON.parse(await readFile(other, "utf8"))).toEqual(DOCUMENT);
});
