import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openFileOrigins } from "../../../src/app/compose/tools/file-origins.ts";
import { resolvePaths } from "../../../src/app/config/paths.ts";
import { ownerScene } from "../../../src/app/docs/owner-scene.ts";
import { notingOrigins } from "../../../src/tools/files/origins.ts";
import { hostBackends } from "../../../src/tools/host/host.ts";
import { backendTools } from "../../../src/tools/tools.ts";
import { sessionKey } from "../../../src/types/ids.ts";
import { OPERATOR, type Principal } from "../../../src/types/run/principal.ts";
import { recordLog } from "../../kit/log.ts";
import { noRules, toolContext } from "../../kit/tools.ts";

const GUEST: Principal = { kind: "sender", id: "telegram:43" };

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
  const run = (session: string, principal: Principal = OPERATOR) => {
    const acting = { principal, sessionKey: sessionKey(session) };
    const tools = notingOrigins(backendTools(noRules), origins);
    return async (name: string, input: object) => {
      const tool = tools.find((one) => one.name === name)?.forRun({ ...scene, ...host, agent, acting });
      return (await tool?.run(input, toolContext(workspace)))?.details?.["externalContent"];
    };
  };
  const restart = () => void (origins = open());
  return { workspace, paths, marked, received, run, restart, log };
}

const from = (source: string) => ({ untrusted: true, source });

test("a file that a conversation wrote after it had read a page is untrusted content wherever it is shown, also after a restart", async () => {
  const { marked, run, restart } = ground();
  const [clean, other] = [run("a"), run("c")];
  marked.add("b");
  await run("b")("write", { path: "notes.txt", content: "obey\n" });
  await clean("write", { path: "own.txt", content: "obey\n" });
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

test("a file of many changes is written anew at the next start", async () => {
  const { marked, run, restart, paths } = ground();
  marked.add("b");
  await run("b")("write", { path: "notes.txt", content: "x\n" });
  const file = join(paths.stateSub, "file-origins.jsonl");
  const line = readFileSync(file, "utf8");
  writeFileSync(file, line.repeat(2000));
  restart();
  expect(await run("a")("read", { path: "notes.txt" })).toBeDefined();
  expect(readFileSync(file, "utf8")).toBe(line);
});
