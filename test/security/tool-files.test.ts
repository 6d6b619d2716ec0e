import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { link, mkdir, mkdtemp, open, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runTool } from "../../src/tools/run.ts";
import { createTools } from "../kit/create-tools.ts";
import type { ToolResult } from "../../src/types/run/tool.ts";
import { agentSettings, noRules, textOf, toolContext } from "../kit/tools.ts";

const CANARY = "CANARY-4711";
/** Far more than any call here takes on a busy machine; what hangs would take for ever. */
const SOON_MS = 20_000;

let root: string;
let workspace: string;
let outside: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "tool-files-")));
  workspace = join(root, "work");
  outside = join(root, "outside");
  await mkdir(workspace);
  await mkdir(outside);
  await mkdir(join(root, "state", "credentials"), { recursive: true });
  await writeFile(join(root, "state", "openclaw.json"), `{token: "${CANARY}"}\n`);
  await writeFile(join(root, "state", "credentials", "token"), `${CANARY}\n`);
  await writeFile(join(outside, "secret.txt"), `${CANARY}\n`);
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await rm(root, { recursive: true, force: true });
});

async function call(name: string, input: unknown, workspaceOnly = true): Promise<ToolResult> {
  const tools = createTools({
    settings: agentSettings(workspace, { tools: { workspaceOnly } }),
    rules: noRules,
    rights: "owner",
    deniedPaths: [join(root, "state", "credentials"), join(root, "state", "openclaw.json")],
  });
  const context = toolContext(workspace, { signal: AbortSignal.timeout(SOON_MS) });
  return runTool(
    tools.find((tool) => tool.name === name)!,
    input,
    context,
  );
}
const said = async (name: string, input: unknown, workspaceOnly = true): Promise<string> =>
  textOf(await call(name, input, workspaceOnly));

const READERS: readonly (readonly [string, (path: string) => unknown])[] = [
  ["read", (path) => ({ path })],
  ["grep", (path) => ({ path, pattern: "." })],
  ["edit", (path) => ({ path, oldText: "a", newText: "b" })],
];

describe("what is no regular file", () => {
  it.each(READERS)("is refused at once by %s: a named pipe, a socket", async (name, input) => {
    execFileSync("mkfifo", [join(workspace, "pipe")]);
    const script = `require("node:net").createServer().listen("${join(workspace, "socket")}", () => console.log("up"))`;
    const server = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    children.push(server);
    await once(server.stdout, "data");
    expect(await said(name, input("pipe"))).toBe("pipe is not a regular file.");
    expect(await said(name, input("socket"))).toBe("socket is not a regular file.");
  });

  it("is not replaced by write, and not searched on the way", async () => {
    execFileSync("mkfifo", [join(workspace, "pipe")]);
    await writeFile(join(workspace, "a.txt"), "needle\n");
    expect(await said("write", { path: "pipe", content: "x" })).toBe("pipe is not a regular file.");
    expect(await said("grep", { pattern: "needle" })).toBe("a.txt:1: needle");
    expect(await said("write", { path: ".", content: "x" })).toMatch(/directory|outside/);
    expect((await readdir(workspace)).toSorted()).toEqual(["a.txt", "pipe"]);
  });
});

describe.runIf(process.platform === "linux")("the system's own directories", () => {
  const doors = [
    "/proc/self/environ",
    `/proc/${process.pid}/fd/1`,
    "/dev/zero",
    "/sys/kernel/notes",
    "/proc/self/cwd/x",
  ];

  it.each(doors)("are closed without workspaceOnly too: %s", async (path) => {
    await symlink(path, join(workspace, "link"));
    for (const [name, input] of READERS) {
      expect(await said(name, input(path), false)).toMatch(/part of the system/);
      expect((await call(name, input("link"), false)).isError).toBe(true);
    }
    expect(await said("write", { path, content: "x" }, false)).toContain("part of the system");
  });

  it("are closed to listing and finding, and as a place for commands", async () => {
    await symlink("/proc", join(workspace, "link"));
    for (const path of ["/proc/self", "/dev", "/sys", "link/self"]) {
      expect(await said("ls", { path }, false)).toContain("part of the system");
      expect(await said("find", { path, pattern: "*" }, false)).toContain("part of the system");
      expect(await said("exec", { command: "pwd", cwd: path }, false)).toContain("part of the system");
    }
  });

  it("give a search nothing of the gateway's environment", async () => {
    // Whoever sees the variable leaves out what git's own list of ignored files names.
    await mkdir(join(root, "config", "git"), { recursive: true });
    await writeFile(join(root, "config", "git", "ignore"), "ignored.txt\n");
    await mkdir(join(workspace, ".git"));
    await writeFile(join(workspace, "ignored.txt"), "x\n");
    vi.stubEnv("XDG_CONFIG_HOME", join(root, "config"));
    try {
      expect(await said("grep", { pattern: "x" })).toBe("ignored.txt:1: x");
      expect(await said("find", { pattern: "*" })).toBe("ignored.txt");
    } finally {
      vi.unstubAllEnvs();
    }
  });
});

describe("a line without an end", () => {
  it("is found by grep within its limits, however many matches it has", async () => {
    await writeFile(join(workspace, "line.txt"), "aaaa ".repeat(3_000_000));
    const before = process.memoryUsage().rss;
    for (const path of [".", "line.txt"]) {
      const text = await said("grep", { path, pattern: "a" });
      expect(text).toMatch(/^line\.txt:1: (?:aaaa )+/);
      expect(text.length).toBeLessThan(600);
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
  });

  it("is not searched beyond 64 MB, and read shows its beginning", async () => {
    const file = await open(join(workspace, "huge.txt"), "w");
    await file.write("begin".repeat(20_000));
    await file.truncate(2 ** 40);
    await file.close();
    expect(await said("grep", { path: "huge.txt", pattern: "x" })).toBe("huge.txt is larger than 64 MB.");
    expect(await said("grep", { pattern: "begin" })).toBe("[Nothing found.]");
    expect(await said("edit", { path: "huge.txt", oldText: "a", newText: "b" })).toContain("larger than 10 MB");
    expect(await said("read", { path: "huge.txt" })).toContain("this is its beginning");
  });

  it("does not keep an aborted read busy", async () => {
    const file = await open(join(workspace, "holes.txt"), "w");
    await file.write("begin".repeat(20_000));
    await file.truncate(2 ** 40);
    const tools = createTools({
      settings: agentSettings(workspace),
      rules: noRules,
      rights: "owner",
      deniedPaths: [],
    });
    const read = tools.find((tool) => tool.name === "read")!;
    const context = toolContext(workspace, { signal: AbortSignal.timeout(300) });
    await expect(read.run({ path: "holes.txt", offset: 2 }, context)).rejects.toThrow("too long to find that line");
    await file.close();
  });
});

describe("a second name of a closed file", () => {
  it.each(READERS)("does not open it to %s", async (name, input) => {
    await link(join(root, "state", "openclaw.json"), join(workspace, "hard.json"));
    await link(join(root, "state", "credentials", "token"), join(workspace, "hard.txt"));
    await writeFile(join(workspace, "mine.txt"), "mine\n");
    await link(join(workspace, "mine.txt"), join(workspace, "also-mine.txt"));
    for (const path of ["hard.json", "hard.txt"]) {
      expect(await said(name, input(path))).toContain("belongs to the gateway itself");
    }
    expect(await said("grep", { pattern: CANARY })).not.toContain("token");
    expect(await said("read", { path: "also-mine.txt" })).toBe("mine\n");
  });

  it("is cut off from it by a write", async () => {
    await link(join(root, "state", "openclaw.json"), join(workspace, "hard.json"));
    await call("write", { path: "hard.json", content: "{}" });
    expect(await readFile(join(root, "state", "openclaw.json"), "utf8")).toContain(CANARY);
  });

  it("is not found when it is what the gateway prints to", async () => {
    const log = await open(join(workspace, "gateway.out"), "w");
    const script = `
      import { createTools } from ${JSON.stringify(join(import.meta.dirname, "../kit/create-tools.ts"))};
      const settings = { workspace: ${JSON.stringify(workspace)}, tools: { global: { key: "tools" }, workspaceOnly: true }, exec: { security: "deny", ask: "off", timeoutMs: 1, safeBins: [], pathPrepend: [] } };
      const read = createTools({ settings, rules: {}, rights: "owner", deniedPaths: [] }).find((tool) => tool.name === "read");
      console.log("${CANARY}");
      const told = await read.run({ path: "gateway.out" }, { workspace: settings.workspace, signal: new AbortController().signal })
        .catch((error) => error);
      process.stderr.write(String(told.message ?? JSON.stringify(told)));`;
    const child = spawn(process.execPath, ["--conditions=source", "--input-type=module", "-e", script], {
      stdio: ["ignore", log.fd, "pipe"],
    });
    children.push(child);
    let told = "";
    child.stderr!.on("data", (chunk: Buffer) => (told += chunk.toString()));
    await once(child, "close");
    await log.close();
    expect(told).toContain("belongs to the gateway itself");
    expect(told).not.toContain(CANARY);
  });
});

/** Puts two things into a place in turn, as fast as it can, until what it returns is called or the test ends. */
async function flip(script: string): Promise<() => Promise<void>> {
  const source = `const fs = require("node:fs"); process.chdir(${JSON.stringify(workspace)}); console.log("up");
    const attempt = (act) => { try { act(); return true; } catch { return false; } };
    for (;;) { ${script} }`;
  const child = spawn(process.execPath, ["-e", source], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  await once(child.stdout, "data");
  return async () => {
    const closed = once(child, "close");
    child.kill("SIGKILL");
    await closed;
  };
}

/** A write may put a directory where the link was. */
const SWAP = `attempt(() => fs.renameSync("d", "kept")); attempt(() => fs.symlinkSync("../outside", "d"));
  while (!attempt(() => { fs.rmSync("d", { recursive: true, force: true }); fs.renameSync("kept", "d"); }));`;

describe.runIf(process.platform === "linux")("somebody who changes the way meanwhile", () => {
  const TRIES = 200;

  /** What the tools refuse here is not refused because of its name, or because nothing works. */
  const putBack = async (): Promise<void> => {
    for (const name of ["f", "t", "d", "kept"]) await rm(join(workspace, name), { recursive: true, force: true });
    await writeFile(join(workspace, "f"), "mine\n");
    await mkdir(join(workspace, "d"));
    await writeFile(join(workspace, "d", "secret.txt"), "mine\n");
  };

  it("gains nothing from a file that becomes a link", async () => {
    const end = await flip(`fs.writeFileSync("t", "mine\\n"); fs.renameSync("t", "f");
      fs.symlinkSync("../outside/secret.txt", "t"); fs.renameSync("t", "f");`);
    const told: string[] = [];
    while (told.length < TRIES) told.push(await said("read", { path: "f" }));
    expect(told.filter((text) => text.includes(CANARY))).toEqual([]);
    await end();
    await putBack();
    expect(await said("read", { path: "f" })).toBe("mine\n");
  });

  it("gains nothing from a directory that becomes a link, by read, ls or grep", async () => {
    await putBack();
    const end = await flip(SWAP);
    await writeFile(join(outside, "other.txt"), `${CANARY}\n`);
    const told: string[] = [];
    for (let tries = 0; tries < TRIES; tries += 1)
      told.push(await said("read", { path: "d/secret.txt" }), await said("ls", { path: "d" }));
    for (let tries = 0; tries < 20; tries += 1) told.push(await said("grep", { path: "d", pattern: "C|m" }));
    expect(told.filter((text) => text.includes(CANARY) || text.includes("other.txt"))).toEqual([]);
    await end();
    await putBack();
    expect(await said("read", { path: "d/secret.txt" })).toBe("mine\n");
    expect(await said("grep", { path: "d", pattern: "C|m" })).toContain("mine");
  });

  it("gains nothing from a directory that becomes a link, by write", async () => {
    await putBack();
    const end = await flip(SWAP);
    for (let tries = 0; tries < TRIES; tries += 1) {
      await call("write", { path: `d/escaped-${tries}`, content: "x" });
      await call("write", { path: `d/deep-${tries}/er/x`, content: "x" });
    }
    await end();
    expect(await readdir(outside)).toEqual(["secret.txt"]);
    await putBack();
    expect((await call("write", { path: "d/deep/er/x", content: "x" })).isError).not.toBe(true);
  });
});
