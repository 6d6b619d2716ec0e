import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../kit/until.ts";
import { openPlace, type Call, type Place } from "./people.ts";

let place: Place;
let path: string;
beforeEach(async () => {
  place = await openPlace();
  path = join(place.live.paths.stateDir, "exec-approvals.json");
});
afterEach(() => place.close());

const run = (command: string): Call => ({ tool: "exec", args: { command } });
const put = (name: string, content: string) => writeFile(join(place.workspace, name), content);

async function write(document: unknown): Promise<void> {
  await mkdir(place.live.paths.stateDir, { recursive: true });
  await writeFile(path, JSON.stringify(document), { mode: 0o600 });
}

type Row = Readonly<Record<string, unknown>>;

async function rows(): Promise<readonly Row[]> {
  const document: { agents: { main: { allowlist: Row[] } } } = JSON.parse(await readFile(path, "utf8"));
  return document.agents.main.allowlist;
}

/** A command of the owner that is asked about and answered so. */
async function answered(command: string, word: string): Promise<void> {
  const row = await place.owner.begins(run(command));
  const { id } = await place.question();
  await place.boot.ask(`/approve ${id} ${word}`, "owner");
  await place.boot.outcome(row);
}

/** The result of a command that is asked about, and then denied. */
async function denied(call: Call, person = place.owner): Promise<string> {
  const row = await person.begins(call);
  place.boot.chat.approvals.resolve((await place.question()).id, "deny");
  await place.boot.outcome(row);
  return place.fixture.model.calls.at(-1)?.toolText ?? "";
}

const REFUSED = "A person refused";

it("keeps what is allowed permanently as a row for the exact text, its directory and its files", async () => {
  await put("tool.sh", "echo first");
  await answered("sh tool.sh", "always");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const [row, ...others] = await rows();
  expect(others).toEqual([]);
  expect(row).toMatchObject({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    pattern: "=command:4d4e6c813e0ee63c",
    source: "allow-always",
    commandText: "sh tool.sh",
    cwd: place.workspace,
    givenBy: "telegram:owner",
    lastUsedAt: expect.any(Number),
    lastUsedCommand: "sh tool.sh",
  });
  expect(await place.owner.does(run("sh tool.sh"))).toContain("first");
  await put("tool.sh", "echo SWAPPED");
  expect(await denied(run("sh tool.sh"))).toContain(REFUSED);
});

it("an answer for one command allows no other text, no other directory and no guest", async () => {
  await put("tool.sh", "echo first");
  await mkdir(join(place.workspace, "sub"));
  await put("sub/tool.sh", "echo first");
  await answered("sh tool.sh", "always");
  expect(await denied(run("sh tool.sh x"))).toContain(REFUSED);
  expect(await denied(run("sh tool.sh"), place.guest)).toContain(REFUSED);
  const elsewhere = { tool: "exec", args: { command: "sh tool.sh", cwd: "sub" } };
  expect(await denied(elsewhere)).toContain(REFUSED);
});

it("a row without a binding, as other programs write it, is for the text alone where no file could have changed", async () => {
  await put("tool.sh", "echo first");
  await write({
    version: 1,
    agents: {
      main: {
        allowlist: [{ pattern: "=command:5c1fa7f4f5a9dc65" }, { pattern: "=command:4d4e6c813e0ee63c" }],
      },
    },
  });
  expect(await place.owner.does(run("ls -a"))).toContain("tool.sh");
  expect(await denied(run("ls -a ."))).toContain(REFUSED);
  expect(await denied(run("sh tool.sh"))).toContain(REFUSED);
});

it("a row that somebody removes allows nothing any more", async () => {
  await put("tool.sh", "echo first");
  await answered("sh tool.sh", "always");
  await write({ version: 1, agents: { main: { allowlist: [] } } });
  expect(await denied(run("sh tool.sh"))).toContain(REFUSED);
});

it("notes in the row when, with which words and which program it was last used", async () => {
  await write({ version: 1, agents: { main: { allowlist: [{ id: "x", pattern: "/**/ls", note: "mine" }] } } });
  expect(await place.owner.does(run("ls -a /"))).toContain("..");
  await place.flush();
  const [row] = await rows();
  expect(row).toMatchObject({ id: "x", pattern: "/**/ls", note: "mine", lastUsedCommand: "ls -a /" });
  expect(row?.["lastResolvedPath"]).toMatch(/^\//);
  expect(row?.["lastUsedAt"]).toEqual(expect.any(Number));
});

it("allows once, and reports that it cannot keep it, when the file is torn", async () => {
  await mkdir(place.live.paths.stateDir, { recursive: true });
  await writeFile(path, '{"version":1,"agents":');
  await put("tool.sh", "echo first");
  await answered("sh tool.sh", "always");
  expect(place.fixture.model.calls.at(-1)?.toolText).toContain("first");
  await until(
    () => place.fixture.log.lines.some((line) => line.startsWith("error approval not remembered")),
    "the log",
  );
  expect(await readFile(path, "utf8")).toBe('{"version":1,"agents":');
  expect(await denied(run("sh tool.sh"))).toContain(REFUSED);
});

it("asks about everything, also what a row allows, once others can write the file", async () => {
  await write({ version: 1, agents: { main: { allowlist: [{ pattern: "/**/ls" }] } } });
  expect(await place.owner.does(run("ls -a /"))).toContain("..");
  await chmod(path, 0o666);
  const row = await place.owner.begins(run("ls -a /"));
  const { id, reason } = await place.question();
  expect(reason).toContain("other users can write it");
  place.boot.chat.approvals.resolve(id, "deny");
  await place.boot.outcome(row);
});

it("a guest's answer and a second answer change nothing", async () => {
  await put("tool.sh", "echo first");
  const row = await place.owner.begins(run("sh tool.sh"));
  const { id } = await place.question();
  await place.boot.ask(`/approve ${id} always`, "43");
  expect(place.boot.chat.approvals.list().map((one) => one.id)).toEqual([id]);
  await place.boot.ask(`/approve ${id} deny`, "owner");
  await place.boot.ask(`/approve ${id} always`, "owner");
  await place.boot.outcome(row);
  expect(place.fixture.model.calls.at(-1)?.toolText).toContain("A person refused");
  await expect(readFile(path, "utf8")).rejects.toThrow("ENOENT");
});

describe("commands that are switched off while a question waits", () => {
  const ends = async (change: () => Promise<unknown> | void) => {
    await put("tool.sh", "echo first");
    const row = await place.owner.begins(run("sh tool.sh"));
    const { id } = await place.question();
    await change();
    await place.boot.ask(`/approve ${id} once`, "owner");
    await place.boot.outcome(row);
    return place.fixture.model.calls.at(-1)?.toolText ?? "";
  };

  it("in exec-approvals.json do not run, whatever the answer is", async () => {
    const told = await ends(() => write({ version: 1, defaults: { security: "deny" } }));
    expect(told).toContain("commands are switched off (exec-approvals.json)");
    expect(told).not.toContain("first");
  });

  it("in the config do not run either", async () => {
    const { loaded } = place.live;
    const tools = { ...loaded.config.tools, exec: { ...loaded.config.tools.exec, security: "deny" as const } };
    const told = await ends(() => place.live.replace({ ...loaded, config: { ...loaded.config, tools } }));
    expect(told).toContain("commands are switched off (tools.exec)");
    expect(told).not.toContain("first");
  });

  it("for another agent alone run after the answer", async () => {
    const agents = { another: { security: "deny" } };
    expect(await ends(() => write({ version: 1, agents }))).toContain("first");
  });
});
