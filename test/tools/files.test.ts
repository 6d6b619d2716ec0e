import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { watch } from "node:fs";
import {
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  realpath,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { applyEdits } from "../../src/tools/files/replacements.ts";
import { runTool } from "../../src/tools/run.ts";
import { createTools } from "../kit/create-tools.ts";
import type { ToolPolicySettings } from "../../src/types/tool-policy.ts";
import type { ToolResult } from "../../src/types/run/tool.ts";
import { agentSettings, noRules, textOf, toolContext } from "../kit/tools.ts";

let root: string;
let workspace: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "tools-")));
  workspace = join(root, "work");
  await mkdir(workspace);
  await mkdir(join(root, "state", "credentials"), { recursive: true });
  await writeFile(join(root, "state", "credentials", "key"), "needle");
  await mkdir(join(root, "media"));
  await writeFile(join(root, "media", "photo.txt"), "seen");
});
afterEach(() => rm(root, { recursive: true, force: true }));

const put = (name: string, content: string | Buffer): Promise<void> => writeFile(join(workspace, name), content);
const get = (name: string): Promise<string> => readFile(join(workspace, name), "utf8");

async function call(name: string, input: unknown, tools: Partial<ToolPolicySettings> = {}): Promise<ToolResult> {
  const made = createTools({
    settings: agentSettings(workspace, { tools }),
    rules: noRules,
    rights: "owner",
    deniedPaths: [join(root, "state", "credentials"), join(root, "state", "openclaw.json")],
    readablePaths: [join(root, "media")],
  });
  const tool = made.find((one) => one.name === name);
  expect(tool).toBeDefined();
  return runTool(tool!, input, toolContext(workspace));
}
const said = async (name: string, input: unknown, tools: Partial<ToolPolicySettings> = {}): Promise<string> =>
  textOf(await call(name, input, tools));

/** Milliseconds of the processor that the main thread takes in each turn of its event loop, while `work` is done. */
async function turnsOf(work: Promise<unknown>): Promise<readonly number[]> {
  const turns: number[] = [];
  let isDone = false;
  const ended = work.finally(() => (isDone = true));
  for (let before = process.threadCpuUsage(); !isDone; before = process.threadCpuUsage()) {
    await new Promise((resolve) => setImmediate(resolve));
    const { user, system } = process.threadCpuUsage(before);
    turns.push((user + system) / 1000);
  }
  await ended;
  return turns;
}

describe("read", () => {
  it("gives text, by lines", async () => {
    await put("a.txt", "1\n2\n3\n4");
    expect(await said("read", { path: "a.txt" })).toBe("1\n2\n3\n4");
    expect(await said("read", { path: "a.txt", offset: 2, limit: 2 })).toBe(
      "2\n3\n\n[Lines 2 to 3; there is more, continue with offset=4.]",
    );
    expect(await said("read", { path: "a.txt", offset: 4 })).toBe("4");
    expect(await said("read", { path: "a.txt", offset: 9 })).toContain("fewer than 9 lines");
    await put("empty", "");
    expect(await said("read", { path: "empty" })).toBe("[The file is empty.]");
  });

  it("goes through a long file without losing or repeating a line", async () => {
    const lines = Array.from({ length: 5000 }, (_, index) => `${index} ${"ü".repeat(index % 60)}`);
    await put("long.txt", lines.join("\n"));
    const seen: string[] = [];
    for (let offset = 1; offset <= lines.length;) {
      const text = await said("read", { path: "long.txt", offset });
      const [body = "", next] = text.split(/\n\[Lines \d+ to \d+; there is more, continue with offset=(\d+)\.\]$/);
      const stretch = next === undefined ? body : body.replace(/\n$/, "");
      seen.push(...stretch.split("\n"));
      offset = next === undefined ? Infinity : Number(next);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(51_200);
    }
    expect(seen.join("|") === lines.join("|")).toBe(true);
  });

  it("gives text in UTF-16, as programs on Windows write it, by lines", async () => {
    const text = `\uFEFFGrüße 👋\n${"zwei ".repeat(3000)}\ndrei`;
    await put("little.txt", Buffer.from(text, "utf16le"));
    await put("big.txt", Buffer.from(text, "utf16le").swap16());
    for (const path of ["little.txt", "big.txt"]) {
      expect(await said("read", { path, limit: 1 })).toMatch(/^Grüße 👋\n\n\[Lines 1 to 1;/);
      expect(await said("read", { path, offset: 3 })).toBe("drei");
      expect(await said("read", { path, offset: 9 })).toContain("fewer than 9 lines");
      expect(await said("read", { path, cursor: 10_000_000 })).not.toContain("undefined");
    }
  });

  it("finds a file whose name differs in what models do not write, when it is the only one", async () => {
    await put("Screenshot at 3.00\u202FPM.txt", "shot");
    await put("Ada\u2019s r\u00e9sum\u00e9.txt".normalize("NFD"), "paper");
    expect(await said("read", { path: "Screenshot at 3.00 PM.txt" })).toBe("shot");
    expect(await said("read", { path: join(workspace, "Ada's r\u00e9sum\u00e9.txt") })).toBe("paper");
    await put("Screenshot at 3.00\u00A0PM.txt", "another");
    expect(await said("read", { path: "Screenshot at 3.00 PM.txt" })).toContain("no such file");
    expect(await said("read", { path: "Screenshot at 4.00 PM.txt", optional: true })).toContain("There is no file");
  });

  it("shows the beginning of one endless line", async () => {
    await put("line", "x".repeat(200_000));
    expect(await said("read", { path: "line" })).toMatch(/^x{50176}\n\n\[Line 1 is longer than 50 KB/);
  });

  it("gives images as images, whatever their name, and refuses other binary files", async () => {
    const png = Buffer.from("89504e470d0a1a0a0000000d", "hex");
    await put("picture.txt", png);
    const result = await call("read", { path: "picture.txt" });
    expect(result.content[1]).toEqual({ type: "image", data: png.toString("base64"), mimeType: "image/png" });
    await put("big.png", Buffer.concat([png, Buffer.alloc(5 * 1024 * 1024)]));
    expect(await said("read", { path: "big.png" })).toContain("Make it smaller");
    await put("program", Buffer.from([1, 0, 2]));
    expect(await said("read", { path: "program" })).toContain("binary");
    expect(await said("read", { path: "." })).toContain("ls");
    execFileSync("mkfifo", [join(workspace, "pipe")]);
    expect(await said("read", { path: "pipe" })).toContain("not a regular file");
    expect((await call("read", { path: "none" })).isError).toBe(true);
  });
});

describe("write and edit", () => {
  it("make directories, replace in one step and keep the mode", async () => {
    expect(await said("write", { path: "a/b/c.sh", content: "grüße" })).toBe("Wrote 7 bytes to a/b/c.sh.");
    await chmod(join(workspace, "a/b/c.sh"), 0o750);
    await call("write", { path: "a/b/c.sh", content: "two" });
    expect((await stat(join(workspace, "a/b/c.sh"))).mode & 0o777).toBe(0o750);
    expect(await readdir(join(workspace, "a/b"))).toEqual(["c.sh"]);
  });

  it("remove what a killed process left of its write, and nothing else", async () => {
    const left = `.openclaw-${randomUUID()}.tmp`;
    const fresh = `.openclaw-${randomUUID()}.tmp`;
    const names = [left, fresh, ".openclaw-notes.tmp", `.${randomUUID()}.tmp`, `.openclaw-${randomUUID()}.tmp.txt`];
    const hourAgo = Date.now() / 1000 - 3600;
    for (const name of names) {
      await put(name, "half");
      if (name !== fresh) await utimes(join(workspace, name), hourAgo, hourAgo);
    }
    const folder = `.openclaw-${randomUUID()}.tmp`;
    await mkdir(join(workspace, folder));
    await utimes(join(workspace, folder), hourAgo, hourAgo);
    await call("write", { path: "a.txt", content: "whole" });
    const kept = [...names.filter((name) => name !== left), folder, "a.txt"];
    expect((await readdir(workspace)).toSorted()).toEqual(kept.toSorted());
  });

  it("leave nothing that the next write does not know when they are killed", async () => {
    const found = new Set<string>();
    const watcher = watch(workspace, (_, name) => found.add(String(name)));
    await call("write", { path: "b.txt", content: "x" });
    await expect.poll(() => [...found].filter((name) => name.endsWith(".tmp"))).toHaveLength(1);
    watcher.close();
    const draft = [...found].find((name) => name.endsWith(".tmp")) ?? "";
    await put(draft, "half");
    const hourAgo = Date.now() / 1000 - 3600;
    await utimes(join(workspace, draft), hourAgo, hourAgo);
    await call("write", { path: "b.txt", content: "y" });
    expect(await readdir(workspace)).not.toContain(draft);
  });

  it("change exact, unique text", async () => {
    await put("a.txt", "one two three two");
    expect(await said("edit", { path: "a.txt", oldText: "one", newText: "1" })).toBe("Changed 1 place in a.txt.");
    const edits = [
      { oldText: "three", newText: "$& 3" },
      { oldText: "1 two", newText: "1 2" },
    ];
    await call("edit", { path: "a.txt", edits });
    expect(await get("a.txt")).toBe("1 2 $& 3 two");
  });

  it.each([
    [{ edits: [{ oldText: "two", newText: "2" }] }, "more than once"],
    [{ edits: [{ oldText: "four", newText: "4" }] }, "Edit 1: its oldText is not in the file"],
    [{ edits: [] }, "Nothing to change"],
    [{ edits: [{ oldText: "one", newText: "one" }] }, "change nothing"],
    [{ edits: [{ oldText: "", newText: "x" }] }, "edits.0.oldText"],
    [{ oldText: "", newText: "x" }, "not in the file"],
    [
      {
        edits: [
          { oldText: "one two", newText: "x" },
          { oldText: "two three", newText: "y" },
        ],
      },
      "overlap",
    ],
  ])("refuse %j and leave the file", async (input, why) => {
    await put("a.txt", "one two three two");
    const result = await call("edit", { path: "a.txt", ...input });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain(why);
    expect(await get("a.txt")).toBe("one two three two");
  });

  it("keep line ends, and leave what is not text alone", async () => {
    await put("win.txt", "a\r\nb\r\nc\r\n");
    await call("edit", { path: "win.txt", oldText: "a\nb", newText: "x\ny\nz" });
    expect(await get("win.txt")).toBe("x\r\ny\r\nz\r\nc\r\n");
    await put("latin1", Buffer.from([0x61, 0xfc]));
    expect(await said("edit", { path: "latin1", oldText: "a", newText: "b" })).toContain("not UTF-8");
  });

  it("put any set of separate edits in their places", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ maxLength: 6 }), { minLength: 1, maxLength: 6 }),
        fc.array(fc.nat(5)),
        (news, order) => {
          const content = news.map((_, index) => `<${index}>`).join(" ");
          const edits = news.map((newText, index) => ({ oldText: `<${index}>`, newText }));
          const shuffled = edits.toSorted((a, b) => (order[edits.indexOf(a)] ?? 0) - (order[edits.indexOf(b)] ?? 0));
          expect(applyEdits(content, shuffled)).toBe(news.join(" "));
        },
      ),
    );
  });
});

describe("paths", () => {
  it("stay inside the workspace, also through links", async () => {
    await writeFile(join(root, "secret"), "s");
    await symlink(join(root, "secret"), join(workspace, "link"));
    await symlink(root, join(workspace, "up"));
    await symlink(join(root, "not-yet"), join(workspace, "dangling"));
    for (const path of ["../secret", join(root, "secret"), "link", "up/secret", "~/x", "work/../../secret"]) {
      expect(await said("read", { path })).toContain("outside the workspace");
    }
    for (const path of ["../new", "link", "up/new", "up/deep/er/new"]) {
      expect((await call("write", { path, content: "x" })).isError).toBe(true);
    }
    await call("write", { path: "dangling", content: "x" });
    expect((await readdir(root)).toSorted()).toEqual(["media", "secret", "state", "work"]);
    expect(await readFile(join(root, "secret"), "utf8")).toBe("s");
    for (const name of ["ls", "find", "grep"]) {
      expect(await said(name, { path: "up", pattern: "s" })).toContain("outside the workspace");
    }
    expect(await said("read", { path: "a\0b" })).toContain("NUL");
  });

  it("may leave it where the settings say so, but never reach what is the gateway's", async () => {
    const free = { workspaceOnly: false };
    await writeFile(join(root, "note"), "needle");
    expect(await said("read", { path: "../note" }, free)).toBe("needle");
    await symlink(join(root, "state", "credentials"), join(workspace, "creds"));
    for (const path of ["../state/credentials/key", "creds/key"]) {
      expect(await said("read", { path }, free)).toContain("belongs to the gateway");
    }
    expect(await said("write", { path: "../state/openclaw.json", content: "{}" }, free)).toContain(
      "belongs to the gateway",
    );
    expect(await said("grep", { path: "..", pattern: "needle" }, free)).toBe(`${root}/note:1: needle`);
    expect(await said("find", { path: "..", pattern: "key" }, free)).toBe("[Nothing found.]");
    expect(await said("ls", { path: "../state" }, free)).toBe("[The directory is empty.]");
  });

  it("of received media may be read, not written", async () => {
    expect(await said("read", { path: join(root, "media", "photo.txt") })).toBe("seen");
    expect(await said("write", { path: join(root, "media", "photo.txt"), content: "" })).toContain("outside");
  });
});

describe("searching", () => {
  it("lists a very large directory without keeping the event loop from others", async () => {
    const dir = join(workspace, "many");
    await mkdir(dir);
    for (let from = 0; from < 8000; from += 400)
      await Promise.all(Array.from({ length: 400 }, (_, index) => writeFile(join(dir, `${from + index}`), "")));
    await said("ls", { path: "many" });
    let least = 1;
    // A collection of garbage, or another process, may fall into one turn of a listing; a listing without turns never has a small share.
    for (let round = 0; round < 20 && least >= 1 / 3; round += 1) {
      const turns = await turnsOf(said("ls", { path: "many" }));
      least = Math.min(least, Math.max(...turns) / turns.reduce((sum, one) => sum + one, 0));
    }
    expect(least).toBeLessThan(1 / 3);
  });

  it("lists, finds and greps", async () => {
    await mkdir(join(workspace, "src/deep"), { recursive: true });
    await put("src/deep/a.ts", "one\nTwo (x)\nthree\n");
    await put("b.md", "two\n");
    await put(".hidden", "two\n");
    expect(await said("ls", {})).toBe(".hidden\nb.md\nsrc/");
    expect(await said("find", { pattern: "*.ts" })).toBe("src/deep/a.ts");
    expect(await said("find", { pattern: "*", path: "src" })).toBe("src/deep/a.ts");
    expect(await said("grep", { pattern: "two", ignoreCase: true, glob: "*.ts" })).toBe("src/deep/a.ts:2: Two (x)");
    expect(await said("grep", { pattern: "(x)", literal: true, context: 1 })).toBe(
      "src/deep/a.ts-1- one\nsrc/deep/a.ts:2: Two (x)\nsrc/deep/a.ts-3- three",
    );
    expect((await said("grep", { pattern: "two" })).split("\n").toSorted()).toEqual([".hidden:1: two", "b.md:1: two"]);
    expect(await said("grep", { pattern: "two", path: "b.md" })).toBe("b.md:1: two");
    expect(await said("grep", { pattern: "nowhere" })).toBe("[Nothing found.]");
    expect(await said("grep", { pattern: "--files" })).toBe("[Nothing found.]");
  });

  it("is limited, and says so", async () => {
    await put("many", "line\n".repeat(500));
    const lines = (await said("grep", { pattern: "line" })).split("\n");
    expect(lines).toHaveLength(101);
    expect(lines.at(-1)).toContain("There is more");
    for (let index = 0; index < 5; index += 1) {
      await put(`f${index}.x`, "");
    }
    expect((await said("find", { pattern: "*.x", limit: 2 })).split("\n")).toHaveLength(3);
    expect(await said("grep", { pattern: "l".repeat(3) })).toBe("[Nothing found.]");
    await put("wide", "y".repeat(10_000));
    expect((await said("grep", { pattern: "y+" })).length).toBeLessThan(600);
  });

  it("gives more, or goes on, where a call says so", async () => {
    await put("many", "line\n".repeat(500));
    expect((await said("grep", { pattern: "line", limit: 300 })).split("\n")).toHaveLength(301);
    await mkdir(join(workspace, "d"));
    for (let index = 100; index < 720; index += 1) await put(`d/n${index}`, "");
    expect((await said("find", { pattern: "n*" })).split("\n")).toHaveLength(620);
    const first = await said("ls", { path: "d" });
    expect(first).toMatch(/^n100\n[^]*\nn599\n\[120 more; continue with after=n599\]$/);
    expect((await said("ls", { path: "d", after: "n599" })).split("\n")).toHaveLength(120);
    expect(await said("ls", { path: "d", after: "n599", limit: 1 })).toBe("n600\n[119 more; continue with after=n600]");
    expect(await said("ls", { after: "d/" })).toBe("many");
    expect(await said("ls", { path: "d", after: "z" })).toBe("[Nothing comes after that name.]");
  });

  it("says what of a file is left out, for people and plugins", async () => {
    await put("long", "line\n".repeat(2500));
    const { details } = await call("read", { path: "long" });
    expect(details).toEqual({
      kind: "truncated",
      nextOffset: 2001,
      truncation: { truncatedBy: "lines", totalLines: 2500, totalBytes: 12_500, outputLines: 2000 },
    });
    await put("wide", `${"x".repeat(999)}\n`.repeat(200));
    expect((await call("read", { path: "wide" })).details).toMatchObject({
      truncation: { truncatedBy: "bytes", totalLines: 200 },
    });
    await put("torn", "x".repeat(300_000));
    expect((await call("read", { path: "torn" })).details).toMatchObject({
      truncation: { truncatedBy: "bytes", totalLines: 1, outputLines: 1 },
    });
  });

  it("reports a bad pattern and a missing path", async () => {
    expect(await said("grep", { pattern: "(" })).toContain("unclosed group");
    expect((await call("grep", { pattern: "x", path: "none" })).isError).toBe(true);
    expect((await call("find", { pattern: "x", path: "none" })).isError).toBe(true);
  });
});
