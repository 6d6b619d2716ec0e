import { writeFileSync } from "node:fs";
import {
  chmod,
  chown,
  lstat,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { editApprovals, type RawApprovals } from "../../src/store/exec-approvals-edit.ts";
import { ApprovalUses } from "../../src/store/exec-approvals-uses.ts";
import { ExecApprovalsFile } from "../../src/store/exec-approvals.ts";
import { addedRow, withRows } from "../../src/tools/exec/rules/edit-rows.ts";
import { manualClock } from "../kit/clock.ts";
import { recordLog } from "../kit/log.ts";

let dir: string;
let path: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "exec-approvals-"));
  path = join(dir, "exec-approvals.json");
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const put = (content: unknown) => writeFile(path, JSON.stringify(content), { mode: 0o600 });
const read = async (): Promise<RawApprovals> => JSON.parse(await readFile(path, "utf8"));
const add =
  (pattern: string, agent = "main") =>
  (document: RawApprovals) =>
    withRows(document, agent, addedRow({ pattern }));
const patterns = () => new ExecApprovalsFile(path).policy("main").rows.map(({ row }) => row.pattern);

const FOREIGN = {
  version: 1,
  socket: { path: "/run/x.sock", token: "secret" },
  defaults: { ask: "always", future: { a: 1 } },
  agents: {
    main: { security: "allowlist", future: true, allowlist: [{ id: "1", pattern: "/bin/a", future: [1] }] },
    other: { allowlist: [{ pattern: "/bin/b" }] },
  },
  future: "kept",
};

describe("an edit", () => {
  it("makes the file for its owner alone", async () => {
    await editApprovals(path, add("/bin/a"));
    expect(await read()).toEqual({ version: 1, agents: { main: { allowlist: [{ pattern: "/bin/a" }] } } });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("keeps keys and rows that it does not know", async () => {
    await put(FOREIGN);
    await editApprovals(path, add("/bin/c"));
    const main = FOREIGN.agents.main;
    const agents = { ...FOREIGN.agents, main: { ...main, allowlist: [...main.allowlist, { pattern: "/bin/c" }] } };
    expect(await read()).toEqual({ ...FOREIGN, agents });
  });

  it("gives a file that others could read the mode 600", async () => {
    await put(FOREIGN);
    await chmod(path, 0o644);
    await editApprovals(path, add("/bin/c"));
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("loses none of many that are made at the same time", async () => {
    const names = Array.from({ length: 12 }, (_, at) => `/bin/${at}`);
    await Promise.all(names.map((name) => editApprovals(path, add(name))));
    expect(patterns().toSorted()).toEqual(names.toSorted());
    expect(await readdir(dir)).toEqual(["exec-approvals.json"]);
  });

  it("is made anew when a program without the lock writes the file in between", async () => {
    await put(FOREIGN);
    let tries = 0;
    await editApprovals(path, (document) => {
      tries += 1;
      if (tries === 1) replaceSync({ ...FOREIGN, future: "changed meanwhile" });
      return add("/bin/c")(document);
    });
    expect(tries).toBe(2);
    expect((await read())["future"]).toBe("changed meanwhile");
    expect(patterns()).toEqual(["/bin/a", "/bin/c"]);
  });

  it("gives up, and changes nothing, when a program without the lock writes the file each time", async () => {
    await put(FOREIGN);
    let tries = 0;
    const edit = (document: RawApprovals) => {
      tries += 1;
      replaceSync({ ...FOREIGN, future: tries });
      return add("/bin/c")(document);
    };
    await expect(editApprovals(path, edit)).rejects.toMatchObject({ code: "APPROVALS_CHANGED" });
    expect(await read()).toEqual({ ...FOREIGN, future: tries });
  });

  it("that makes the document unusable changes nothing", async () => {
    await put(FOREIGN);
    const edit = (document: RawApprovals) => ({ ...document, defaults: { security: "none" } });
    await expect(editApprovals(path, edit)).rejects.toMatchObject({ code: "APPROVALS_UNUSABLE" });
    expect(await read()).toEqual(FOREIGN);
  });

  it("leaves a torn file as it is", async () => {
    await writeFile(path, '{"version":1,"agents":{"ma');
    await expect(editApprovals(path, add("/bin/c"))).rejects.toMatchObject({ code: "APPROVALS_UNUSABLE" });
    expect(await readFile(path, "utf8")).toBe('{"version":1,"agents":{"ma');
  });

  it("neither follows nor replaces a link", async () => {
    await put(FOREIGN);
    await rename(path, join(dir, "elsewhere.json"));
    await symlink("elsewhere.json", path);
    await expect(editApprovals(path, add("/bin/c"))).rejects.toMatchObject({ code: "APPROVALS_UNUSABLE" });
    expect((await lstat(path)).isSymbolicLink()).toBe(true);
    expect(JSON.parse(await readFile(join(dir, "elsewhere.json"), "utf8"))).toEqual(FOREIGN);
  });

  it("that changes nothing writes nothing", async () => {
    await put(FOREIGN);
    const before = (await stat(path)).ino;
    await editApprovals(path, (document) => document);
    expect((await stat(path)).ino).toBe(before);
  });
});

/** As a program does that knows no lock, while an edit is under way. */
const replaceSync = (content: unknown): void => writeFileSync(path, JSON.stringify(content));

it("writes no document that is too large to be read again", async () => {
  await put({ version: 1 });
  const large = editApprovals(path, () => ({ version: 1, note: "x".repeat(16 * 1_048_576) }));
  await expect(large).rejects.toMatchObject({
    code: "APPROVALS_UNUSABLE",
    message: expect.stringContaining("larger than"),
  });
  expect(await read()).toEqual({ version: 1 });
});

describe("a file that others may have made", () => {
  const asksAboutAll = () => {
    const policy = new ExecApprovalsFile(path).policy("main");
    expect(policy).toMatchObject({ ask: "always", rows: [] });
    return policy.broken;
  };

  it.each([0o622, 0o602, 0o620, 0o666])("allows nothing when others can write it: %o", async (mode) => {
    await put(FOREIGN);
    await chmod(path, mode);
    expect(asksAboutAll()).toContain("600");
    await chmod(path, 0o600);
    expect(patterns()).toEqual(["/bin/a"]);
  });

  it("allows nothing when it is a link", async () => {
    await put(FOREIGN);
    await rename(path, join(dir, "elsewhere.json"));
    await symlink("elsewhere.json", path);
    expect(asksAboutAll()).toContain("link");
  });

  it.runIf(process.getuid?.() === 0)("allows nothing when it belongs to another user", async () => {
    await put(FOREIGN);
    await chown(path, 12_345, 12_345);
    expect(asksAboutAll()).toContain("another user");
    await expect(editApprovals(path, add("/bin/c"))).rejects.toMatchObject({ code: "APPROVALS_UNUSABLE" });
  });
});

describe("last uses", () => {
  const use = (pattern: string, at: number) => ({
    block: "main",
    use: { pattern, lastUsedAt: at, lastUsedCommand: `${pattern} x`, lastResolvedPath: pattern },
  });

  it("are written together, some seconds later", async () => {
    await put(FOREIGN);
    const clock = manualClock();
    const uses = new ApprovalUses(path, clock, recordLog());
    uses.note([use("/bin/a", 1), use("/bin/unknown", 1)]);
    uses.note([use("/bin/a", 2)]);
    expect(clock.waits).toHaveLength(1);
    expect(await read()).toEqual(FOREIGN);
    clock.pass(5000);
    await uses.flush();
    const { agents } = await read();
    const [row] = FOREIGN.agents.main.allowlist;
    const used = { ...row, lastUsedAt: 2, lastUsedCommand: "/bin/a x", lastResolvedPath: "/bin/a" };
    expect(agents).toEqual({ ...FOREIGN.agents, main: { ...FOREIGN.agents.main, allowlist: [used] } });
  });

  it("of a file that cannot be used are reported and dropped", async () => {
    await writeFile(path, "{");
    const log = recordLog();
    const uses = new ApprovalUses(path, manualClock(), log);
    uses.note([use("/bin/a", 1)]);
    await uses.flush();
    expect(log.lines.some((line) => line.startsWith("warn last uses of approvals not written"))).toBe(true);
    expect(await readFile(path, "utf8")).toBe("{");
  });
});
