import { chmod, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { diskOfDatabases } from "../kit/store/full-disk.ts";
import { until } from "../kit/until.ts";
import { openPlace, type Call, type Place } from "./people.ts";

let place: Place;
beforeEach(async () => {
  place = await openPlace();
});
afterEach(() => place.close());

const put = (name: string, content: string) => writeFile(join(place.workspace, name), content);
const run = (command: string): Call => ({ tool: "exec", args: { command } });
const write = (path: string, content: string): Call => ({ tool: "write", args: { path, content } });

/** The owner asks for a command and answers the question with this word. */
async function allowed(command: string, word: "once" | "always", between?: () => Promise<unknown>): Promise<string> {
  const row = await place.owner.begins(run(command));
  const { id } = await place.question();
  await between?.();
  await place.boot.ask(`/approve ${id} ${word}`, "owner");
  await place.boot.outcome(row);
  return lastResult();
}
const lastResult = () => place.fixture.model.calls.at(-1)?.toolText ?? "";
const waiting = () => place.boot.chat.approvals.list();

describe("an allowance for good", () => {
  it("runs the same command with the same files unasked, in an owner's turn", async () => {
    await put("tool.sh", "echo first");
    expect(await allowed("sh tool.sh", "always")).toContain("first");
    expect(await place.owner.does(run("sh tool.sh"))).toContain("first");
  });

  it("asks again when a file has changed", async () => {
    await put("tool.sh", "echo first");
    await allowed("sh tool.sh", "always");
    await put("tool.sh", "echo SWAPPED");
    const row = await place.owner.begins(run("sh tool.sh"));
    expect((await place.question()).files?.map(({ path }) => path)).toEqual([join(place.workspace, "tool.sh")]);
    place.boot.chat.approvals.resolve(waiting()[0]!.id, "deny");
    await place.boot.outcome(row);
    expect(lastResult()).toContain("A person refused");
  });

  it("asks once only for programs that run nothing of what they name, though their files change", async () => {
    await allowed("touch made.txt && echo done-it", "always");
    await put("made.txt", "other words");
    expect(await place.owner.does(run("touch made.txt && echo done-it"))).toContain("done-it");
  });

  it("never counts in a guest's turn, and cannot be given there", async () => {
    await put("tool.sh", "echo first");
    await allowed("sh tool.sh", "always");
    const row = await place.guest.begins(run("sh tool.sh"));
    const asked = await place.question();
    expect(asked).toMatchObject({ principal: { kind: "sender", id: "telegram:43" } });
    expect(asked.allowance).toBeUndefined();
    await place.boot.ask(`/approve ${asked.id} always`, "owner");
    await place.boot.outcome(row);
    const again = await place.guest.begins(run("sh tool.sh"));
    place.boot.chat.approvals.resolve((await place.question()).id, "deny");
    await place.boot.outcome(again);
  });

  it("ends when whoever gave it is no owner any more", async () => {
    await allowed("ls", "always");
    expect(await place.owner.does(run("ls"))).toContain("[no output]");
    const { loaded } = place.live;
    const commands = { ...loaded.config.commands, ownerAllowFrom: ["another"] };
    place.live.replace({ ...loaded, config: { ...loaded.config, commands } });
    const row = await place.owner.begins(run("ls"));
    place.boot.chat.approvals.resolve((await place.question()).id, "deny");
    await place.boot.outcome(row);
  });

  it.each([
    "make",
    "npm test",
    "npx tool",
    "python3 -c 'print(1)'",
    "node -e 1",
    "sh -c 'echo 1'",
    "sh missing.sh",
    "bash",
    "env ls",
    "xargs ls",
    "cd sub && sh tool.sh",
    "sh *.sh",
    "sh $X",
    "ls > out",
    "./missing",
    "awk 1",
    "/usr/bin/python3.11 -m http.server",
    "pytest",
    "docker compose up",
  ])("cannot be given for what its text and files do not show: %s", async (command) => {
    const row = await place.owner.begins(run(command));
    const asked = await place.question();
    expect(asked.allowance).toBeUndefined();
    place.boot.chat.approvals.resolve(asked.id, "deny");
    await place.boot.outcome(row);
  });
});

describe("an answer is for what was shown", () => {
  it("asks a second time when a guest's turn changes the script while the question waits", async () => {
    await put("deploy.sh", "echo ORIGINAL");
    const row = await place.owner.begins(run("sh deploy.sh"));
    const first = await place.question();
    await place.guest.does(write("deploy.sh", "echo SWAPPED"));
    await place.boot.ask(`/approve ${first.id} once`, "owner");
    await until(() => waiting().some(({ id }) => id !== first.id), "a second question");
    const [second] = waiting();
    expect(second!.reason).toContain("deploy.sh");
    expect(second!.files).not.toEqual(first.files);
    place.boot.chat.approvals.resolve(second!.id, "deny");
    await place.boot.outcome(row);
    expect(lastResult()).toContain("A person refused");
  });

  it.each([
    ["a script that was not there", "sh new.sh", "new.sh"],
    ["a file named in quotes", `sh -c "cat 'a b.txt'"`, "a b.txt"],
    ["a name in pieces", String.raw`sh de'pl'o\y.sh`, "deploy.sh"],
    ["a file in a directory that the command enters", "cd sub && sh x.sh", "sub/x.sh"],
    ["what make reads by itself", "make", "Makefile"],
    ["what npm reads by itself", "npm run build", "package.json"],
    ["what make reads elsewhere", "make -C sub", "sub/Makefile"],
    ["a file below several directories that it enters", "cd a && cd b && cd c && sh x.sh", "a/b/c/x.sh"],
    ["a file behind many directories", "ls 1 2 3 4 5 6 7 8 9; cd a; sh x.sh", "a/x.sh"],
    ["a file in the directory of the moment", "cd sub && sh $PWD/x.sh", "sub/x.sh"],
    ["the same with braces", "cd sub && sh ${PWD}/x.sh", "sub/x.sh"],
    ["the same by its program", "cd sub && sh $(pwd)/x.sh", "sub/x.sh"],
    ["a wildcard's file", "sh s*.sh", "step.sh"],
    ["a file behind a flag", "tool -fconf.ini --list=x", "conf.ini"],
    ["a file behind =", "tool --file=conf.ini", "conf.ini"],
    ["a redirection", "wc <conf.ini", "conf.ini"],
    ["the program itself", "./tool", "tool"],
    ["a script whose folder a wildcard stands for", "sh */x.sh", "sub/x.sh"],
    ["a script with wildcards in two parts of its path", "sh ./a/?/c/x*.sh", "a/b/c/x1.sh"],
  ])("sees a change of %s", async (_what, command, file) => {
    const folders = ["sub", "a/b/c", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
    for (const folder of folders) await mkdir(join(place.workspace, folder), { recursive: true });
    const row = await place.owner.begins(run(command));
    const first = await place.question();
    await put(file, "echo SWAPPED");
    await chmod(join(place.workspace, file), 0o755);
    place.boot.chat.approvals.resolve(first.id, "allow-once");
    await until(() => waiting().some(({ id }) => id !== first.id), "a second question");
    const [second] = waiting();
    expect(second!.files?.map(({ path }) => path)).toContain(join(place.workspace, file));
    place.boot.chat.approvals.resolve(second!.id, "deny");
    await place.boot.outcome(row);
  });

  it("does not ask about a command that names more directories than are looked into", async () => {
    const folders = Array.from({ length: 20 }, (_, index) => `d${index}`);
    for (const folder of folders) await mkdir(join(place.workspace, folder));
    expect(await place.owner.does(run(`ls ${folders.join(" ")}; sh x.sh`))).toContain("so many directories");
  });

  it("sees a link that leads elsewhere", async () => {
    await put("good.sh", "echo good");
    await put("bad.sh", "echo bad");
    await symlink("good.sh", join(place.workspace, "link.sh"));
    const row = await place.owner.begins(run("sh link.sh"));
    const first = await place.question();
    await rm(join(place.workspace, "link.sh"));
    await symlink("bad.sh", join(place.workspace, "link.sh"));
    place.boot.chat.approvals.resolve(first.id, "allow-once");
    await until(() => waiting().some(({ id }) => id !== first.id), "a second question");
    place.boot.chat.approvals.resolve(waiting()[0]!.id, "deny");
    await place.boot.outcome(row);
  });

  it("names the files in the chat", async () => {
    await put("deploy.sh", "echo ORIGINAL");
    const row = await place.owner.begins(run("sh deploy.sh"));
    const { id } = await place.question();
    await until(() => place.fixture.platform.texts.length > 0, "the question in the chat");
    expect(place.fixture.platform.texts[0]).toMatch(/`?deploy\.sh`? \(13 bytes, sha256 [0-9a-f]{12}\)/);
    expect(place.fixture.platform.texts[0]).toContain("the owner");
    place.boot.chat.approvals.resolve(id, "deny");
    await place.boot.outcome(row);
  });

  it("lets no later call of the answer overtake the question", async () => {
    await put("deploy.sh", "echo ORIGINAL");
    const row = await place.owner.begins(run("sh deploy.sh"), write("deploy.sh", "echo SWAPPED"));
    const { id } = await place.question();
    expect(await readFile(join(place.workspace, "deploy.sh"), "utf8")).toBe("echo ORIGINAL");
    place.boot.chat.approvals.resolve(id, "allow-once");
    await place.boot.outcome(row);
    const results = place.fixture.model.calls.at(-1)!.messages.filter(({ role }) => role === "tool");
    expect(JSON.stringify(results[0]?.content)).toContain("ORIGINAL");
    expect(await readFile(join(place.workspace, "deploy.sh"), "utf8")).toBe("echo SWAPPED");
  });

  it("asks nobody about more files than a question can show", async () => {
    const names = Array.from({ length: 25 }, (_, at) => `f${at}`);
    for (const name of names) await put(name, name);
    expect(await place.owner.does(run(`cat ${names.join(" ")}`))).toContain("names 25 files");
  });
});

it("takes the buttons off an answered question", async () => {
  const row = await place.owner.begins(run("ls"));
  const { id } = await place.question();
  await until(() => place.fixture.platform.messages.length > 0, "the question in the chat");
  const [question] = place.fixture.platform.messages;
  expect(question!.buttons).toContain(`/approve ${id} once`);
  place.boot.chat.approvals.resolve(id, "deny");
  await place.boot.outcome(row);
  await until(() => question!.buttons.length === 0, "the buttons gone");
  expect(question!.text).toContain("Denied.");
});

it("takes the buttons off a question that was answered while the disk was full, when there is space", async () => {
  const disk = diskOfDatabases();
  const row = await place.owner.begins(run(`ls ${"a-name-that-is-long ".repeat(100)}`));
  const { id } = await place.question();
  const { platform, log } = place.fixture;
  await until(() => platform.messages.length > 0, "the question in the chat");
  disk.isFull = () => true;
  place.boot.chat.approvals.resolve(id, "deny");
  await until(() => log.lines.some((line) => line.startsWith("error question waits for the disk")), "the failed edit");
  disk.isFull = () => false;
  await place.boot.outcome(row);
  const [question] = platform.messages;
  await until(() => question!.buttons.length === 0, "the buttons gone");
  expect(question!.text).toContain("Denied.");
});
