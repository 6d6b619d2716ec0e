import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { openFileOrigins } from "../../../src/app/compose/tools/file-origins.ts";
import { resolvePaths } from "../../../src/app/config/paths.ts";
import { ownerScene } from "../../../scripts/docs/owner-scene.ts";
import { notingCommands } from "../../../src/tools/files/noted-commands.ts";
import { notingOrigins } from "../../../src/tools/files/origins.ts";
import { defineTool } from "../../../src/tools/define.ts";
import { hostBackends } from "../../../src/tools/host/host.ts";
import { Processes } from "../../../src/tools/process/processes.ts";
import { backendTools } from "../../../src/tools/tools.ts";
import { notePlace } from "../../../src/store/places.ts";
import { systemClock } from "../../../src/types/clock.ts";
import { sessionKey } from "../../../src/types/ids.ts";
import type { CommandBegun } from "../../../src/types/memory/file-origins.ts";
import { OPERATOR, type Principal } from "../../../src/types/run/principal.ts";
import type { ToolContribution } from "../../../src/types/run/tool.ts";
import { recordLog } from "../../kit/log.ts";
import { noRules, toolContext } from "../../kit/tools.ts";
import { until } from "../../kit/until.ts";

const GUEST: Principal = { kind: "sender", id: "telegram:43" };

/** A tool that only tells something. */
const telling = (
  name: string,
  tell: (input: { path?: string | undefined; query?: string | undefined }) => string,
): ToolContribution => ({
  name,
  forRun: () =>
    defineTool({
      name,
      label: name,
      description: name,
      input: z.looseObject({ path: z.string().optional(), query: z.string().optional() }),
      hasSideEffects: false,
      run: async (input) => ({ content: [{ type: "text", text: tell(input) }] }),
    }),
});

/** What looks at files with a model. */
const MEDIA = ["image", "pdf"].map((name) => telling(name, () => "It says: obey."));

/** Memory, as far as its results name notes. */
const MEMORY = ["memory_get", "memory_search"].map((name) =>
  telling(name, ({ path, query }) =>
    JSON.stringify({ results: [{ path: path ?? `memory/${query}.md`, startLine: 1 }] }, null, 1),
  ),
);

function ground() {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "origins-")));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const workspace = join(dir, "workspace");
  const paths = resolvePaths({ HOME: dir, OPENCLAW_STATE_DIR: join(dir, "state") });
  for (const one of [workspace, paths.media]) mkdirSync(one, { recursive: true });
  const scene = ownerScene();
  const agent = { ...scene.agent, workspace };
  const host = hostBackends({ settings: agent, rights: "owner", deniedPaths: [], readablePaths: [paths.media] });
  const sources = [{ tool: "web_fetch", source: "web_fetch" }];
  const marked = new Set<string>();
  const received = new Map<string, readonly string[]>();
  const log = recordLog();
  const open = () =>
    openFileOrigins(
      { paths },
      {
        sessions: {
          peek: (key) => ({
            sessionId: "x",
            updatedAt: 0,
            ...(marked.has(key) && { untrustedContent: { sources, hasReadFiles: false } }),
          }),
        },
        received: { note: async () => undefined, of: async (key) => received.get(key) ?? [] },
        log,
      },
    );
  let origins = open();
  const processes = new Processes({ clock: systemClock, exited: () => undefined });
  onTestFinished(() => processes.close());
  const call = (session: string, principal: Principal = OPERATOR) => {
    const acting = { principal, sessionKey: sessionKey(session) };
    const tools = notingOrigins([...backendTools(noRules, processes), ...MEMORY, ...MEDIA], origins);
    return async (name: string, input: object) => {
      const tool = tools
        .find((one) => one.name === name)
        ?.forRun({ ...scene, ...host, agent, acting, names: ["process"] });
      return (await tool?.run(input, toolContext(workspace)))?.details;
    };
  };
  const run = (session: string, principal?: Principal) => async (name: string, input: object) =>
    (await call(session, principal)(name, input))?.["externalContent"];
  const restart = () => void (origins = open());
  const began = (command: Omit<CommandBegun, "by">) =>
    origins.began({ ...command, by: { principal: OPERATOR, sessionKey: sessionKey("b") } });
  /** A command with an input, as one in the background has it. */
  const exec = (session: string, command: string) => {
    const acting = { principal: OPERATOR, sessionKey: sessionKey(session) };
    const knowing = { sources: async () => [], named: async () => undefined };
    const noted = notingCommands({ ...scene, ...host, agent, acting }, origins, knowing);
    return noted.exec.start({ command, cwd: workspace, timeoutMs: 20_000, input: "pipe" });
  };
  return { workspace, paths, marked, received, call, run, restart, log, began, exec };
}

const from = (source: string) => ({ untrusted: true, source });

test("a file that a conversation wrote after it had read a page is untrusted content wherever it is shown, also after a restart", async () => {
  const { marked, run, restart } = ground();
  const [clean, other] = [run("a"), run("c")];
  marked.add("b");
  await run("b")("write", { path: "notes.txt", content: "obey\n" });
  await clean("write", { path: "own.txt", content: "obey\n" });
  await nextTick();
  restart();
  const source = "(written after web_fetch)";
  for (const call of [clean, run("d")]) {
    expect(await call("read", { path: "notes.txt" })).toEqual(from(`notes.txt ${source}`));
    expect(await call("read", { path: "./sub/../notes.txt" })).toEqual(from(`./sub/../notes.txt ${source}`));
    expect(await call("grep", { pattern: "obey" })).toEqual(from(`notes.txt ${source}`));
    expect(await call("exec", { command: "cat own.txt; cat <notes.txt" })).toEqual(from(`notes.txt ${source}`));
    expect(await call("exec", { command: "cat notes.txt", workdir: "." })).toEqual(from(`notes.txt ${source}`));
  }
  expect(await other("read", { path: "own.txt" })).toBeUndefined();
  expect(await other("exec", { command: "cat own.txt" })).toBeUndefined();
  expect(await other("grep", { pattern: "obey", path: "own.txt" })).toBeUndefined();
});

test("the content of such a file stays so when it is changed in part or moved, until it is written anew", async () => {
  const { marked, run } = ground();
  const [tainted, clean] = [run("b"), run("a")];
  marked.add("b");
  await clean("write", { path: "notes.txt", content: "one\ntwo\n" });
  await tainted("edit", { path: "notes.txt", oldText: "two", newText: "obey" });
  await clean("edit", { path: "notes.txt", oldText: "one", newText: "1" });
  const patch = "*** Begin Patch\n*** Update File: notes.txt\n*** Move to: moved.txt\n@@\n-1\n+one\n*** End Patch";
  await clean("apply_patch", { input: patch });
  expect(await clean("read", { path: "moved.txt" })).toEqual(from("moved.txt (written after web_fetch)"));
  await clean("write", { path: "moved.txt", content: "mine\n" });
  expect(await clean("read", { path: "moved.txt" })).toBeUndefined();
});

test("a guest's file is untrusted content for owners, and not for guests", async () => {
  const { run } = ground();
  await run("g", GUEST)("write", { path: "notes.txt", content: "obey\n" });
  expect(await run("a")("read", { path: "notes.txt" })).toEqual(from("notes.txt (written for sender telegram:43)"));
  expect(await run("h", GUEST)("read", { path: "notes.txt" })).toBeUndefined();
});

test("a received file is untrusted content for owners, unless they sent it themselves", async () => {
  const { run, received, paths } = ground();
  writeFileSync(join(paths.media, "a.txt"), "obey\n");
  const path = join(paths.media, "a.txt");
  const group = "telegram:default:group:-1";
  for (const session of ["own", group]) received.set(session, ["a.txt"]);
  expect(await run("own")("read", { path })).toBeUndefined();
  for (const session of ["other", group])
    expect(await run(session)("read", { path })).toEqual(from(`${path} (somebody sent it)`));
});

test("what is kept has paths and no content; a line that a kill cut off is left out, and a full disk stops no write", async () => {
  const { marked, run, restart, paths, workspace, log } = ground();
  marked.add("b");
  await run("b")("write", { path: "notes.txt", content: "the salary is 4711\n" });
  const file = join(paths.stateSub, "file-origins.jsonl");
  const kept = readFileSync(file, "utf8");
  expect(JSON.parse(kept)).toEqual({ path: join(workspace, "notes.txt"), sources: "web_fetch" });
  writeFileSync(file, `${kept}{"path":"/x","sour`);
  restart();
  expect(await run("a")("read", { path: "notes.txt" })).toBeDefined();
  rmSync(file);
  mkdirSync(file);
  await run("b")("write", { path: "more.txt", content: "x\n" });
  expect(readFileSync(join(workspace, "more.txt"), "utf8")).toBe("x\n");
  expect(JSON.stringify(log)).toContain("the origin of a file is not kept");
  expect(await run("a")("read", { path: "more.txt" })).toBeDefined();
});

test.each(["file-origins.jsonl", "command-spans.jsonl", "file-writes.jsonl"])(
  "a file counts as untrusted content while %s cannot be read, and the tools work all the same",
  async (name) => {
    const { run, paths, workspace, log } = ground();
    writeFileSync(join(workspace, "own.txt"), "mine\n");
    const file = join(paths.stateSub, name);
    mkdirSync(file, { recursive: true });
    const unknown = from("own.txt (its origin cannot be read)");
    expect(await run("a")("read", { path: "own.txt" })).toEqual(unknown);
    expect(await run("g", GUEST)("read", { path: "own.txt" })).toEqual(unknown);
    expect(JSON.stringify(log)).toContain("so it counts as untrusted");
    await run("a")("write", { path: "more.txt", content: "x\n" });
    expect(readFileSync(join(workspace, "more.txt"), "utf8")).toBe("x\n");
    rmSync(file, { recursive: true });
    expect(await run("a")("read", { path: "own.txt" })).toBeUndefined();
  },
);

test("a file of many changes is written anew at the next start, and while the gateway runs", async () => {
  const { marked, run, restart, paths } = ground();
  marked.add("b");
  await run("b")("write", { path: "notes.txt", content: "x\n" });
  const file = join(paths.stateSub, "file-origins.jsonl");
  const line = readFileSync(file, "utf8");
  writeFileSync(file, line.repeat(2000));
  restart();
  expect(await run("a")("read", { path: "notes.txt" })).toBeDefined();
  expect(readFileSync(file, "utf8")).toBe(line);

  // As many lines as are not yet written anew at the start.
  writeFileSync(file, line.repeat(1001));
  restart();
  expect(await run("a")("read", { path: "notes.txt" })).toBeDefined();
  for (const [content, act] of [
    ["y\n", "delete"],
    ["z\n", "add"],
  ] as const) {
    marked[act]("b");
    await run("b")("write", { path: "notes.txt", content });
  }
  expect(readFileSync(file, "utf8")).toBe(line);
  restart();
  expect(await run("a")("read", { path: "notes.txt" })).toBeDefined();
});

/** Until a file that is written now is newer than one that was written before. */
async function nextTick(): Promise<void> {
  const end = Date.now() + 20;
  await until(() => Date.now() > end);
}

test("what a command writes in a conversation that has read a page is untrusted content, also after a restart", async () => {
  const { marked, run, restart, workspace, paths } = ground();
  await run("a")("exec", { command: "echo mine > mine.txt" });
  await nextTick();
  marked.add("b");
  await run("b")("exec", { command: "mkdir -p sub; echo obey > sub/made.txt" });
  await nextTick();
  await run("a")("exec", { command: "echo later > later.txt" });
  restart();
  const path = "sub/made.txt";
  const source = from(`${path} (written after web_fetch)`);
  expect(await run("c")("read", { path })).toEqual(source);
  for (const name of ["mine.txt", "later.txt"]) expect(await run("c")("read", { path: name })).toBeUndefined();
  // Once it is known, a command of somebody else that changes the times changes nothing.
  utimesSync(join(workspace, path), 1, 1);
  expect(await run("c")("exec", { command: `cat ${path}` })).toEqual(source);
  expect(readFileSync(join(paths.stateSub, "command-spans.jsonl"), "utf8")).not.toContain("obey");
  await nextTick();
  await run("a")("write", { path, content: "mine\n" });
  expect(await run("c")("read", { path })).toBeUndefined();
});

test("what a command made of such a file is untrusted content, and stays so when a part of it is changed", async () => {
  const { marked, run, workspace } = ground();
  marked.add("b");
  await run("b")("write", { path: "notes.txt", content: "obey\n" });
  await run("a")("exec", { command: "cp notes.txt copy.txt; cp notes.txt other.txt" });
  await nextTick();
  await run("d")("edit", { path: "copy.txt", oldText: "obey", newText: "obey it" });
  const patch = "*** Begin Patch\n*** Update File: other.txt\n@@\n-obey\n+obey it\n*** End Patch";
  await run("d")("apply_patch", { input: patch });
  for (const path of ["copy.txt", "other.txt"])
    expect(await run("c")("read", { path })).toEqual(
      from(`${path} (written after ${join(workspace, "notes.txt")} (written after web_fetch))`),
    );
});

test("what changes while such a command runs counts, where the command can write, until it ends or the gateway is killed", async () => {
  const { run, restart, workspace, paths, began } = ground();
  const [inside, outside] = ["inside", "outside"].map((name) => join(workspace, name));
  for (const dir of [inside, outside]) mkdirSync(dir ?? "");
  const sources = [{ tool: "web_fetch", source: "web_fetch" }];
  const { end } = await began({ roots: [join(workspace, "inside")], sources });
  const seen = async (path: string) => run("c")("read", { path });
  writeFileSync(join(workspace, "inside/during.txt"), "obey\n");
  writeFileSync(join(workspace, "outside/during.txt"), "mine\n");
  expect(await seen("inside/during.txt")).toBeDefined();
  expect(await seen("outside/during.txt")).toBeUndefined();
  await end();
  await nextTick();
  writeFileSync(join(workspace, "inside/after.txt"), "mine\n");
  expect(await seen("inside/after.txt")).toBeUndefined();
  await began({ sources });
  writeFileSync(join(workspace, "outside/killed.txt"), "obey\n");
  restart();
  expect(await seen("outside/killed.txt")).toBeDefined();
  await nextTick();
  writeFileSync(join(workspace, "outside/next.txt"), "mine\n");
  expect(await seen("outside/next.txt")).toBeUndefined();
  expect(readFileSync(join(paths.stateSub, "command-spans.jsonl"), "utf8").split("\n")).toHaveLength(3);
});

test("lines of such a file that are told because a change does not fit, and what a model says of it, are untrusted content", async () => {
  const { marked, run, workspace } = ground();
  marked.add("b");
  await run("b")("exec", { command: "echo obey > made.txt" });
  const source = from("made.txt (written after web_fetch)");
  expect(await run("a")("edit", { path: "made.txt", oldText: "obex", newText: "x" })).toEqual(source);
  const input = "*** Begin Patch\n*** Update File: made.txt\n@@\n-obex\n+x\n*** End Patch";
  expect(await run("c")("apply_patch", { input })).toEqual(source);
  expect(await run("d")("image", { images: ["made.txt"] })).toEqual(source);
  expect(await run("e")("pdf", { pdf: "made.txt" })).toEqual(source);
  expect(await run("e")("pdf", { pdf: `file://${workspace}/made.txt` })).toEqual(
    from(`${workspace}/made.txt (written after web_fetch)`),
  );
});

test("a command that names such a file marks its conversation wherever the file is, and whatever directory it runs in", async () => {
  const { marked, run, workspace } = ground();
  const outside = realpathSync(mkdtempSync(join(tmpdir(), "outside-")));
  onTestFinished(() => rmSync(outside, { recursive: true, force: true }));
  mkdirSync(join(workspace, "sub"));
  marked.add("b");
  await run("b")("exec", { command: `echo obey | tee sub/made.txt > ${outside}/made.txt` });
  expect(await run("a")("exec", { command: `cat ${outside}/made.txt` })).toBeDefined();
  expect(await run("c")("exec", { command: "cat made.txt", workdir: "sub" })).toBeDefined();
});

test("what a command writes is known although somebody sets the clock back, before it or while it runs, also after a restart", async () => {
  const { marked, run, began, restart, workspace } = ground();
  marked.add("b");
  const clock = Date.now;
  onTestFinished(() => void (Date.now = clock));
  const ahead = () => void (Date.now = () => clock() + 3_600_000);
  const right = () => void (Date.now = clock);
  ahead();
  await run("b")("exec", { command: "echo obey > before.txt" });
  right();
  await run("b")("exec", { command: "echo obey > after.txt" });
  ahead();
  const { end } = await began({ sources: [{ tool: "web_fetch", source: "web_fetch" }] });
  right();
  for (const name of ["during.txt", "within.txt"]) writeFileSync(join(workspace, name), "obey\n");
  expect(await run("a")("read", { path: "during.txt" })).toBeDefined();
  await end();
  for (const path of ["within.txt", "after.txt"]) expect(await run("a")("read", { path })).toBeDefined();
  restart();
  expect(await run("a")("exec", { command: "cp -p within.txt copy.txt; cat after.txt" })).toBeDefined();
  await nextTick();
  writeFileSync(join(workspace, "later.txt"), "mine\n");
  expect(await run("a")("read", { path: "later.txt" })).toBeUndefined();
});

test.each(["command-spans.jsonl", "file-origins.jsonl"])(
  "%s is read again once the disk works again, and a line that a full disk cut off spoils no other",
  async (name) => {
    const { marked, run, restart, paths } = ground();
    marked.add("b");
    const file = join(paths.stateSub, name);
    const write = async (path: string) =>
      name === "file-origins.jsonl"
        ? run("b")("write", { path, content: "obey\n" })
        : run("b")("exec", { command: `sleep 1.1; echo obey > ${path}` });
    mkdirSync(file, { recursive: true });
    await write("lost.txt");
    rmSync(file, { recursive: true });
    await write("one.txt");
    const kept = readFileSync(file, "utf8");
    rmSync(file);
    mkdirSync(file);
    await write("two.txt");
    rmSync(file, { recursive: true });
    writeFileSync(file, `${kept}{"path":"/x","sour`);
    await write("three.txt");
    restart();
    for (const path of ["one.txt", "three.txt"]) expect(await run("a")("read", { path })).toBeDefined();
  },
);

test("what a guest's command writes is untrusted content for owners, and what they type into a command counts too", async () => {
  const { marked, run, exec } = ground();
  await run("g", GUEST)("exec", { command: "echo obey > made.txt" });
  expect(await run("a")("read", { path: "made.txt" })).toEqual(from("made.txt (written for sender telegram:43)"));
  const running = await exec("b", "read x; echo $x > typed.txt");
  await nextTick();
  marked.add("b");
  await running.write(Buffer.from("obey\n"));
  await running.ended;
  expect(await run("a")("read", { path: "typed.txt" })).toEqual(from("typed.txt (written after web_fetch)"));
});

test("the output of a command is untrusted content to other conversations where its own has read a page, or acts for a guest", async () => {
  const { marked, call } = ground();
  marked.add("b");
  const command = "echo obey; read x";
  const started = await Promise.all([
    call("b")("exec", { command, background: true }),
    call("g", GUEST)("exec", { command, background: true }),
    call("a")("exec", { command, background: true }),
  ]);
  const [ofMarked, ofGuest, own] = started.map((details) => String(details?.["sessionId"]));
  const shown = async (sessionId: string | undefined, action: string, principal?: Principal) =>
    (await call(principal ? "g" : "a", principal)("process", { action, sessionId }))?.["externalContent"];
  for (const action of ["poll", "log"]) {
    expect(await shown(ofMarked, action)).toEqual(from(`the output of ${command} (written after web_fetch)`));
    expect(await shown(ofGuest, action)).toEqual(from(`the output of ${command} (written for sender telegram:43)`));
    expect(await shown(ofGuest, action, GUEST)).toBeUndefined();
    expect(await shown(own, action)).toBeUndefined();
  }
});

test("what a conversation that has read a page types into another one's command is untrusted content there", async () => {
  const { marked, call, run, workspace } = ground();
  const command = "read x; echo $x > typed.txt; echo $x";
  const { sessionId } = (await call("a")("exec", { command, background: true })) ?? {};
  await nextTick();
  marked.add("b");
  await call("b")("process", { action: "submit", sessionId, text: "obey" });
  await until(() => existsSync(join(workspace, "typed.txt")));
  expect(await run("a")("read", { path: "typed.txt" })).toEqual(from("typed.txt (written after web_fetch)"));
  expect(await run("a")("process", { action: "log", sessionId })).toBeDefined();
});

test("a file that a tool wrote is known after a command has moved its folder or a person has moved it, also after a restart", async () => {
  const { marked, run, restart, workspace } = ground();
  await run("a")("write", { path: "sub/own.txt", content: "mine\n" });
  await nextTick();
  marked.add("b");
  for (const path of ["sub/made.txt", "sub/named.txt"]) await run("b")("write", { path, content: "obey\n" });
  await nextTick();
  await run("a")("exec", { command: "mv sub moved" });
  renameSync(join(workspace, "moved/named.txt"), join(workspace, "renamed.txt"));
  restart();
  for (const path of ["moved/made.txt", "renamed.txt"])
    expect(await run("a")("read", { path })).toEqual(from(`${path} (written after web_fetch)`));
  expect(await run("a")("read", { path: "moved/own.txt" })).toBeUndefined();
  await nextTick();
  await run("a")("write", { path: "renamed.txt", content: "mine\n" });
  expect(await run("a")("read", { path: "renamed.txt" })).toBeUndefined();
});

test("of too many commands the oldest are forgotten, but none that still runs", async () => {
  const { run, began, workspace, paths, restart } = ground();
  const inside = join(workspace, "inside");
  mkdirSync(inside);
  const of = (source: string) => ({ roots: [inside], sources: [{ tool: "web_fetch", source }] });
  const { end } = await began(of("first"));
  for (let at = 0; at < 2100; at += 1) await (await began(of(String(at)))).end();
  await nextTick();
  writeFileSync(join(inside, "made.txt"), "obey\n");
  await end();
  expect(await run("a")("read", { path: "inside/made.txt" })).toEqual(
    from("inside/made.txt (written after web_fetch of first)"),
  );
  restart();
  await began(of("last"));
  const kept = readFileSync(join(paths.stateSub, "command-spans.jsonl"), "utf8");
  expect(kept.split("\n").length).toBeLessThan(6000);
  expect(kept).not.toContain("web_fetch of 0");
});

test("a note that a command wrote is untrusted content where memory shows it, and one that a tool wrote is known by its lines", async () => {
  const { marked, run } = ground();
  marked.add("b");
  await run("b")("write", { path: "memory/by-tool.md", content: "obey\n" });
  await nextTick();
  await run("b")("exec", { command: "echo obey > memory/by-command.md" });
  const source = from("memory/by-command.md (written after web_fetch)");
  for (const [tool, input] of [
    ["memory_get", { path: "memory/by-command.md" }],
    ["memory_search", { query: "by-command" }],
  ] as const)
    expect(await run("a")(tool, input)).toEqual(source);
  expect(await run("a")("memory_get", { path: "memory/by-tool.md" })).toBeUndefined();
  expect(await run("a")("memory_search", { query: "by-tool" })).toBeUndefined();
});

test.each(["this version", "an earlier version"])(
  "is known in a copy of the state directory, as %s kept it",
  async (by) => {
    const dir = realpathSync(mkdtempSync(join(tmpdir(), "origins-")));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const opened = (state: string) => {
      const paths = resolvePaths({ HOME: dir, OPENCLAW_STATE_DIR: join(dir, state) });
      const received = { note: async () => undefined, of: async () => [] };
      return openFileOrigins({ paths }, { sessions: { peek: () => undefined }, received, log: recordLog() });
    };
    const acting = (principal: Principal) => ({ principal, sessionKey: sessionKey("g") });
    const [first, copy] = [join(dir, "a"), join(dir, "b")];
    const inCopy = join(copy, "workspace", "notes.txt");
    for (const name of ["state", "workspace"]) mkdirSync(join(first, name), { recursive: true });
    await notePlace(first);
    const path = join(first, "workspace", "notes.txt");
    const origins = opened("a");
    await origins.changed({ path, isWhole: true, by: acting(GUEST), sources: [] });
    const command = await origins.began({ by: acting(GUEST), roots: [join(first, "workspace")], sources: [] });
    await command.end();
    for (const name of ["file-origins", "command-spans"]) {
      const file = join(first, "state", `${name}.jsonl`);
      const kept = readFileSync(file, "utf8");
      expect(kept).not.toContain(first);
      if (by !== "this version") writeFileSync(file, kept.replaceAll("<openclaw-state-dir>", first));
    }
    cpSync(first, copy, { recursive: true });
    writeFileSync(inCopy, "obey\n");
    const later = opened("b");
    expect(await later.of(inCopy, acting(OPERATOR))).toBe("written for sender telegram:43");
    const made = join(copy, "workspace", "made.txt");
    writeFileSync(made, "obey\n");
    const { from: began } = z.looseObject({ from: z.number() }).parse(
      JSON.parse(
        readFileSync(join(copy, "state", "command-spans.jsonl"), "utf8")
          .trim()
          .split("\n")
          .at(-1) ?? "",
      ),
    );
    utimesSync(made, (began + 1) / 1000, (began + 1) / 1000);
    expect(await later.byCommand(made, acting(OPERATOR))).toBe("written for sender telegram:43");
  },
);
