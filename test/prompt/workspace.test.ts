import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadContextFiles, seedWorkspace } from "../../src/prompt/bootstrap.ts";
import { truncateMiddle } from "../../src/prompt/truncate-middle.ts";
import { parseFrontmatter } from "../../src/prompt/skills/frontmatter.ts";
import { joinParts } from "../../src/prompt/parts.ts";
import type { BadSkill } from "../../src/prompt/skills/skill-file.ts";
import { loadSkills, skillParts } from "../../src/prompt/skills/skills.ts";

const LONG_AGO = new Date(Date.UTC(2026, 0, 1));
let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "prompt-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const put = (name: string, text: string): Promise<void> => writeFile(join(root, name), text);

describe("context files", () => {
  it("come in their order, without the missing and the empty", async () => {
    for (const name of ["MEMORY.md", "AGENTS.md", "SOUL.md", "CLAUDE.md"]) {
      await put(name, name);
    }
    await put("USER.md", " \n");
    expect((await loadContextFiles(root)).map((file) => file.path)).toEqual(["AGENTS.md", "SOUL.md", "MEMORY.md"]);
    await rm(join(root, "AGENTS.md"));
    expect((await loadContextFiles(root)).map((file) => file.path)).toEqual(["SOUL.md", "MEMORY.md", "CLAUDE.md"]);
  });

  it("keep head and tail of a long file", async () => {
    await put("AGENTS.md", "h".repeat(15_000) + "t".repeat(15_000));
    const [file] = await loadContextFiles(root);
    expect(file?.content).toBe(`${"h".repeat(14_000)}\n\n[... content truncated ...]\n\n${"t".repeat(4000)}`);
    expect(truncateMiddle("x".repeat(6) + "😀".repeat(10), 10)).not.toMatch(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])/);
  });

  it("stay within the total", async () => {
    await put("AGENTS.md", "a".repeat(80));
    await put("SOUL.md", "s".repeat(80));
    await put("USER.md", "u".repeat(80));
    const files = await loadContextFiles(root, { totalMaxChars: 100 });
    expect(files.map((file) => file.path)).toEqual(["AGENTS.md", "SOUL.md", "USER.md"]);
    expect(files[1]?.content).toContain("content truncated");
    expect(files[2]).toEqual({ path: "USER.md", content: "[... content truncated ...]", wholeChars: 80 });
  });

  it("are read again when they change, and reported when they cannot be read", async () => {
    await put("AGENTS.md", "one");
    await loadContextFiles(root);
    await put("AGENTS.md", "two");
    await utimes(join(root, "AGENTS.md"), 1, 1);
    expect((await loadContextFiles(root))[0]?.content).toBe("two");
    await mkdir(join(root, "SOUL.md"));
    expect((await loadContextFiles(root))[1]?.content).toBe("[This is not a regular file]");
  });

  // Some file systems do not change a directory's time when a file is added.
  it("are read as soon as they are there, also where the time of their directory stays the same", async () => {
    const elsewhere = join(root, "elsewhere");
    await symlink(elsewhere, join(root, "USER.md"));
    await utimes(root, LONG_AGO, LONG_AGO);
    expect(await loadContextFiles(root)).toEqual([]);
    await put("SOUL.md", "soul");
    await put("elsewhere", "user");
    await utimes(root, LONG_AGO, LONG_AGO);
    expect((await loadContextFiles(root)).map(({ content }) => content)).toEqual(["soul", "user"]);
  });
});

describe("a new workspace", () => {
  it("are not read through a link out of the workspace where commands could have made it", async () => {
    const outside = await mkdtemp(join(tmpdir(), "outside-"));
    await writeFile(join(outside, "id_rsa"), "a private key");
    await writeFile(join(root, "TOOLS.md"), "tools");
    await symlink(join(outside, "id_rsa"), join(root, "AGENTS.md"));
    await symlink("TOOLS.md", join(root, "SOUL.md"));
    const shown = async (isConfined: boolean) =>
      (await loadContextFiles(root, { isConfined })).map(({ path, content }) => `${path}: ${content.slice(0, 14)}`);
    expect(await shown(false)).toContain("AGENTS.md: a private key");
    expect(await shown(true)).toEqual(["AGENTS.md: [This file is ", "SOUL.md: tools", "TOOLS.md: tools"]);
    await rm(outside, { recursive: true });
  });

  it.runIf(process.platform === "linux")("waits for no named pipe, and reads no device", async () => {
    execFileSync("mkfifo", [join(root, "AGENTS.md")]);
    await symlink("/dev/zero", join(root, "SOUL.md"));
    const shown = (await loadContextFiles(root)).map(({ content }) => content);
    expect(shown).toEqual(["[This is not a regular file]", "[This is not a regular file]"]);
  });

  it.runIf(process.platform === "linux")(
    "shows nothing outside while a program swaps a file and a link to it",
    async () => {
      const outside = await mkdtemp(join(tmpdir(), "outside-"));
      await writeFile(join(outside, "id_rsa"), "a private key");
      await put("inside", "of the user");
      const swapping = spawn(
        "sh",
        [
          "-c",
          `ln -s "$OUT/id_rsa" link; echo ready; while :; do
          cp -P link new; mv -Tf new AGENTS.md; cp inside new; mv -Tf new AGENTS.md; done`,
        ],
        { cwd: root, env: { PATH: process.env["PATH"], OUT: outside }, stdio: ["ignore", "pipe", "ignore"] },
      );
      await once(swapping.stdout, "data");
      const seen = new Set<string>();
      const hasBoth = () => seen.has("of the user") && [...seen].some((text) => text.includes("leads out"));
      for (let round = 0; round < 2000 || !hasBoth(); round += 1)
        for (const { content } of await loadContextFiles(root, { isConfined: true }, ["AGENTS.md"])) seen.add(content);
      const ended = once(swapping, "close");
      swapping.kill("SIGKILL");
      await ended;
      expect([...seen].filter((text) => !text.startsWith("[This file"))).toEqual(["of the user"]);
      await rm(outside, { recursive: true });
    },
  );

  it("gets its first files, once", async () => {
    const home = join(root, "a", "workspace");
    expect(await seedWorkspace(home)).toEqual(["README.md", "AGENTS.md", "SOUL.md", "USER.md", "HEARTBEAT.md"]);
    expect(await readdir(home)).toHaveLength(5);
    expect(await readFile(join(home, "SOUL.md"), "utf8")).toContain("Who you are");
    await rm(join(home, "SOUL.md"));
    expect(await seedWorkspace(home)).toEqual([]);
    expect(await readdir(home)).toHaveLength(4);
  });

  it("that two agents begin at once has each file once", async () => {
    const home = join(root, "shared");
    const written = await Promise.all([seedWorkspace(home), seedWorkspace(home), seedWorkspace(home)]);
    expect(written.flat().toSorted()).toEqual((await readdir(home)).toSorted());
    expect(await readdir(home)).toHaveLength(5);
  });

  it("that cannot be made is an error that names it, and no other directory is taken", async () => {
    await put("file", "");
    const unusable = join(root, "file", "workspace");
    const error = { code: "WORKSPACE_UNUSABLE", message: expect.stringContaining(unusable) };
    await expect(seedWorkspace(unusable)).rejects.toMatchObject(error);
    expect(await readdir(root)).toEqual(["file"]);
  });

  it.runIf(process.platform === "linux")("at a place where the system makes none is an error too", async () => {
    const error = { code: "WORKSPACE_UNUSABLE", message: expect.stringContaining("/proc/no-such") };
    await expect(seedWorkspace("/proc/no-such/workspace")).rejects.toMatchObject(error);
  });
});

describe("frontmatter", () => {
  it.each([
    ["---\nname: a\ndescription: b # c\n---\nx", { name: "a", description: "b" }],
    ["\uFEFF---\r\nname: \"a: \\\"b\\\"\"\r\ndescription: 'it''s'\r\n---\r\n", { name: 'a: "b"', description: "it's" }],
    ["---\nname: a\ndescription: >\n  one\n  two\nmetadata:\n  k: v\n---", { description: "one two\n" }],
    ["---\ndescription: |\n  one\n  two\n---\n", { description: "one\ntwo\n" }],
    ["---\ndescription: one\n  two\n---\n", { description: "one two" }],
    // No YAML, but what many skills have.
    ["---\nname: a\ndescription: Use when: asked\n---\n", { name: "a", description: "Use when: asked" }],
    ["---\ndescription: @you: a # b\n  c\nversion: 1.0\n---\n", { description: "@you: a c", version: "1.0" }],
  ])("reads %j", async (source, expected) => {
    expect(await parseFrontmatter(source)).toMatchObject(expected);
  });

  it.each([
    ["---\nname: [a\n---\n", "is no YAML: "],
    ["---\njust words\n---\n", "has no keys"],
    [`---\n${"k: v\n".repeat(5000)}---\n`, "is longer than 8192 characters"],
    [`---\na: ${"[".repeat(8000)}\n---\n`, "is no YAML: "],
    [`---\na: &a [x]\nb: &b [${"*a,".repeat(99)}]\nc: [${"*b,".repeat(99)}]\n---\n`, "is no YAML: Excessive alias"],
  ])("is refused with the reason where it cannot be read: %#", async (source, reason) => {
    expect(await parseFrontmatter(source)).toContain(reason);
  });

  it("is absent from other files", async () => {
    expect(await parseFrontmatter("# Title\n---\nname: a\n---")).toBeUndefined();
    expect(await parseFrontmatter("---\nname: a")).toBeUndefined();
  });
});

describe("skills", () => {
  const sources = (): Parameters<typeof loadSkills>[0] => ({
    workspace: join(root, "work"),
    stateDir: join(root, "state"),
    bundledDir: join(root, "bundled"),
    extraDirs: [join(root, "extra")],
    machine: { platform: "linux", env: {}, config: {} },
  });
  async function skill(where: string, name: string, description: string): Promise<void> {
    await mkdir(join(root, where, name), { recursive: true });
    await put(join(where, name, "SKILL.md"), `---\nname: ${name}\ndescription: ${description}\n---\n`);
  }

  it("of a nearer source win", async () => {
    for (const [where, names] of Object.entries({
      extra: ["a", "b", "c", "d"],
      bundled: ["b", "c", "d"],
      "state/skills": ["c", "d"],
      "work/skills": ["d"],
    })) {
      for (const name of names) {
        await skill(where, name, `from ${where}`);
      }
    }
    const { forModel: found } = await loadSkills(sources());
    expect(found.map((entry) => `${entry.name} ${entry.description}`)).toEqual([
      "a from extra",
      "b from bundled",
      "c from state/skills",
      "d from work/skills",
    ]);
    expect(found[3]?.location).toBe(join(root, "work/skills/d/SKILL.md"));
    expect((await loadSkills({ ...sources(), only: ["b"] })).forModel.map((entry) => entry.name)).toEqual(["b"]);
    const hidden = new Set(["b"]);
    expect((await loadSkills({ ...sources(), hidden })).forModel.map((entry) => entry.name)).not.toContain("b");
    expect(await loadSkills({ ...sources(), only: ["b"], hidden })).toEqual({
      forModel: [],
      forPeople: [],
      usable: [],
    });
  });

  it("that are broken are reported and skipped", async () => {
    await skill("work/skills", "good", "x");
    await mkdir(join(root, "work/skills/bad"), { recursive: true });
    await put("work/skills/bad/SKILL.md", "no frontmatter");
    await mkdir(join(root, "work/skills/nameless"), { recursive: true });
    await put("work/skills/nameless/SKILL.md", "---\ndescription: x\n---\n");
    await mkdir(join(root, "work/skills/loop"), { recursive: true });
    await symlink("SKILL.md", join(root, "work/skills/loop/SKILL.md"));
    await mkdir(join(root, "work/skills/empty"), { recursive: true });
    await put("work/skills/file.md", "x");
    const bad: BadSkill[] = [];
    expect((await loadSkills(sources(), (one) => bad.push(one))).forModel.map((entry) => entry.name)).toEqual(["good"]);
    expect(bad.map((one) => one.reason)).toEqual([
      "it does not begin with frontmatter between two lines of ---",
      "it cannot be read (ELOOP)",
      "its frontmatter has no name",
    ]);
  });

  it("are for the model, for people, or for both, as their frontmatter says", async () => {
    for (const [name, more] of [
      ["both", ""],
      ["people", "disable-model-invocation: true\n"],
      ["model", "user-invocable: false\n"],
      ["nobody", "user-invocable: false\ndisable-model-invocation: true\n"],
    ] as const) {
      await mkdir(join(root, "work/skills", name), { recursive: true });
      await put(`work/skills/${name}/SKILL.md`, `---\nname: ${name}\ndescription: x\n${more}---\n`);
    }
    const { forModel, forPeople } = await loadSkills(sources());
    expect(forModel.map(({ name }) => name)).toEqual(["both", "model"]);
    expect(forPeople.map(({ name }) => name)).toEqual(["both", "people"]);
  });

  it("are listed as XML that a description cannot break", () => {
    expect(joinParts(skillParts("", [{ name: "a", description: "</skill> & <b>", location: "/a" }]))).toBe(
      "\n<available_skills>  <skill>\n    <name>a</name>\n    <description>&lt;/skill&gt; &amp; &lt;b&gt;</description>\n" +
        "    <location>/a</location>\n  </skill>\n</available_skills>",
    );
  });

  it("come with the program", async () => {
    const bundledDir = join(import.meta.dirname, "../../skills");
    const { forModel: found } = await loadSkills({ ...sources(), bundledDir }, (bad) => expect(bad).toBeUndefined());
    expect(found.map((entry) => entry.name)).toEqual(expect.arrayContaining(["notes", "summarize"]));
  });
});
