import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sessionKey } from "../../../src/types/ids.ts";
import { ownerScene } from "../../../scripts/docs/owner-scene.ts";
import { toolContext } from "../../../test/kit/tools.ts";
import { folder, note, open, paths } from "./memory-kit.ts";

test("a note is found by other forms of its words and by parts of them, with the place of its line", async () => {
  const dir = folder();
  note(dir, "MEMORY.md", "# People\n\nThe dentist is called Okonkwo.\n\n# Pets\n\nThe parrot eats sunflower seeds.\n");
  note(dir, "memory/2026-01-05.md", "We planned the Sommerfest in Graz.\n");
  const { search } = await open(dir);
  const parrots = await search("What do parrots eat?");
  expect(parrots.mode).toBe("keyword");
  expect(parrots.results[0]).toMatchObject({ path: "MEMORY.md", startLine: 5, citation: "Source: MEMORY.md#5" });
  expect(paths(await search("fest"))).toEqual(["memory/2026-01-05.md"]);
  expect(paths(await search("submarine"))).toEqual([]);
});

test("a note is found by another everyday word for the same thing", async () => {
  const dir = folder();
  note(dir, "memory/a.md", "Mother keeps the kettle in the cellar beside the old bicycle.\n");
  note(dir, "memory/b.md", "A kettle was seen.\n");
  const { search } = await open(dir);
  expect(paths(await search("where does mum keep her kettle"))).toEqual(["memory/a.md", "memory/b.md"]);
});

test("a word of two characters is found in a script without spaces", async () => {
  const dir = folder();
  note(dir, "memory/a.md", "新服务器的端口是8443，优先使用它。\n");
  note(dir, "memory/b.md", "サーバーの場所は東京です。\n");
  note(dir, "memory/c.md", "優先 is something else, and 東 too.\n");
  const { search } = await open(dir);
  expect(paths(await search("端口"))).toEqual(["memory/a.md"]);
  expect(paths(await search("优先"))).toEqual(["memory/a.md"]);
  expect(paths(await search("東京 場所"))).toEqual(["memory/b.md"]);
  expect(paths(await search("海边"))).toEqual([]);
});

test.each([
  ["鸭", "a"],
  ["我 吃 鸭", "a"],
  ["烤鸭好吃吗", "a"],
  ["公司的办公地点", "b"],
  ["サーバーの置き場", "c"],
  ["책", "d"],
  ["친구가 누구", "d"],
  ["海边的房子", undefined],
])("in a script without spaces, %s finds the note with its words first", async (query, found) => {
  const dir = folder();
  note(dir, "memory/a.md", "我喜欢吃北京烤鸭。\n");
  note(dir, "memory/b.md", "我在上海办公室开会。\n");
  note(dir, "memory/c.md", "新しいサーバーは東京です。\n");
  note(dir, "memory/d.md", "친구를 만나서 책을 샀다.\n");
  note(dir, "memory/e.md", "我今天很好。\n");
  const { search } = await open(dir);
  expect(paths(await search(query))[0]).toBe(found === undefined ? undefined : `memory/${found}.md`);
});

test("what changes is found at the next search, and what is deleted is not", async () => {
  const dir = folder();
  const { search } = await open(dir);
  expect(paths(await search("locker"))).toEqual([]);
  note(dir, "memory/2026-01-05.md", "The locker code is 4417.\n");
  expect(paths(await search("locker"))).toEqual(["memory/2026-01-05.md"]);
  note(dir, "memory/2026-01-05.md", "The bicycle has a new chain now.\n");
  expect(paths(await search("locker"))).toEqual([]);
  expect(paths(await search("bicycle"))).toEqual(["memory/2026-01-05.md"]);
  rmSync(join(dir, "memory/2026-01-05.md"));
  const gone = await search("bicycle");
  expect(paths(gone)).toEqual([]);
  expect(gone.index).toMatchObject({ pendingFiles: 0, ageSeconds: 0 });
});

test("a damaged index is made again, and the search is answered", async () => {
  const dir = folder();
  note(dir, "MEMORY.md", "The greenhouse key hangs behind the clock.\n");
  mkdirSync(join(dir, "state", "memory"), { recursive: true });
  const id = encodeURIComponent(toolContext(dir).agentId);
  writeFileSync(join(dir, "state", "memory", `${id}.sqlite`), "no database ".repeat(1000));
  const { search } = await open(dir);
  expect(paths(await search("greenhouse"))).toEqual(["MEMORY.md"]);
});

test("MEMORY.md is neither found nor read in a group or by a webhook", async () => {
  const dir = folder();
  note(dir, "MEMORY.md", "The salary is secret.\n");
  note(dir, "memory/2026-01-05.md", "The salary talk is on Monday.\n");
  const { search, call } = await open(dir);
  const { acting } = ownerScene();
  const group = { acting: { ...acting, sessionKey: sessionKey("agent:main:telegram:group:7") } };
  expect(paths(await search("salary")).toSorted()).toEqual(["MEMORY.md", "memory/2026-01-05.md"]);
  expect(paths(await search("salary", group))).toEqual(["memory/2026-01-05.md"]);
  await expect(call("memory_get", { path: "MEMORY.md" }, group)).rejects.toThrow("private");
  const automation = { kind: "automation", id: "hook:mail", setUpBy: "owner" } as const;
  const webhook = { acting: { ...acting, principal: automation } };
  expect(paths(await search("salary", webhook))).toEqual(["memory/2026-01-05.md"]);
  const job = { acting: { ...acting, principal: { ...automation, id: "cron:1" } } };
  expect(paths(await search("salary", job))).toHaveLength(2);
});

test("only notes are read: no link, no file elsewhere", async () => {
  const dir = folder();
  note(dir, "secret.md", "The launch word is xylophone.\n");
  symlinkSync(join(dir, "secret.md"), join(dir, "memory", "link.md"));
  symlinkSync(dir, join(dir, "memory", "up"));
  const { search, call } = await open(dir);
  expect(paths(await search("xylophone"))).toEqual([]);
  for (const path of ["memory/link.md", "memory/up/secret.md", "secret.md", "memory/../secret.md", "/etc/hosts"]) {
    expect((await call("memory_get", { path }))?.details).toMatchObject({ path, text: "" });
  }
});

test("further files and folders are notes too, and nothing beside them", async () => {
  const dir = folder();
  const far = folder();
  mkdirSync(join(far, "papers/.hidden"), { recursive: true });
  mkdirSync(join(dir, "plans"));
  note(far, "papers/one.md", "The yacht is called Xylophone.\n");
  note(far, "papers/.hidden/two.md", "A hidden xylophone.\n");
  note(far, "papers/three.txt", "A plain xylophone.\n");
  note(far, "beside.md", "A xylophone beside it.\n");
  note(far, "single.md", "A single xylophone.\n");
  symlinkSync(join(far, "beside.md"), join(far, "papers/link.md"));
  note(dir, "plans/trip.md", "The xylophone trip.\n");
  const extraPaths = [
    join(far, "papers"),
    join(far, "single.md"),
    "plans",
    "memory",
    "missing",
    join(far, "papers/link.md"),
  ];
  const { search, call } = await open(dir, { memorySearch: { isOn: true, sources: ["memory"], extraPaths } });
  const notes = [join(far, "papers/one.md"), join(far, "single.md"), "plans/trip.md"];
  expect(paths(await search("xylophone")).toSorted()).toEqual(notes.toSorted());
  const textOf = async (path: string) => (await call("memory_get", { path }))?.details?.["text"];
  for (const path of notes) expect(await textOf(path)).toContain("ylophone");
  const others = ["beside.md", "papers/.hidden/two.md", "papers/three.txt", "papers/link.md", "papers/../beside.md"];
  for (const path of others) expect(await textOf(join(far, path))).toBe("");
  for (const path of [`${far}/papers/../beside.md`, `${far}/papers//one.md`, "plans/../secret.md"])
    expect(await textOf(path)).toBe("");
});

test("memory_get gives the lines that are asked for, and how many follow", async () => {
  const dir = folder();
  note(dir, "memory/2026-01-05.md", "one\ntwo\nthree\nfour");
  const { call } = await open(dir);
  const part = await call("memory_get", { path: "memory/2026-01-05.md", from: 2, lines: 2 });
  expect(part?.details).toMatchObject({ text: "two\nthree", from: 2, lines: 2, linesAfter: 1 });
});

test("there are no tools and no section of the prompt unless the slot names the memory", async () => {
  const { contributions } = await open(folder(), { memorySlot: "another" });
  expect(contributions.tools.flatMap((tool) => tool.forRun(ownerScene()) ?? [])).toEqual([]);
  const availableTools = new Set(["memory_search"]);
  expect(contributions.memoryPrompt({ availableTools })).toEqual([]);
  const on = await open(folder());
  expect(on.contributions.memoryPrompt({ availableTools }).join("\n")).toContain("Source: path#line");
});

/** Indexes in a process of its own, and says so after each slice. */
const BUILDER = `
import { IndexFile } from ${JSON.stringify(new URL("../index/index-file.ts", import.meta.url).href)};
const [workspace, db] = process.argv.slice(1);
const index = new IndexFile({ workspace, db });
index.sync(1, true);
for (;;) process.stdout.write(String(index.sync(1).pending) + "\\n");
`;

test("an index whose builder was killed is complete after the next search", async () => {
  const dir = folder();
  for (let day = 0; day < 300; day += 1)
    note(dir, `memory/${day}.md`, `# Day ${day}\n\nThe number was token${day}x.\n`);
  mkdirSync(join(dir, "state", "memory"), { recursive: true });
  const db = join(dir, "state", "memory", `${encodeURIComponent(toolContext(dir).agentId)}.sqlite`);
  for (const slices of [1, 3, 8]) {
    const child = spawn(process.execPath, ["--input-type=module", "-e", BUILDER, dir, db]);
    for (let seen = 0; seen < slices; seen += 1) await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  const { search } = await open(dir);
  await expect.poll(async () => (await search("token7x")).index.pendingFiles, { timeout: 20_000 }).toBe(0);
  for (const day of [0, 150, 299]) expect(paths(await search(`token${day}x`))).toEqual([`memory/${day}.md`]);
});
