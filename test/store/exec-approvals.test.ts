import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ExecApprovalsFile } from "../../src/store/exec-approvals.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "exec-approvals-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const put = (content: string) => writeFile(join(dir, "exec-approvals.json"), content);
const open = () => new ExecApprovalsFile(join(dir, "exec-approvals.json"));
const patterns = (file: ExecApprovalsFile, agent: string) => file.policy(agent).rows.map(({ row }) => row.pattern);

it("a missing file limits and allows nothing", () => {
  expect(open().policy("main")).toEqual({ rows: [] });
});

it("an agent has its own rows, those of the old name of main, and those of every agent; its own limits come first", async () => {
  const allowlist = (pattern: string) => [{ id: "1", pattern, lastUsedAt: 5, unknown: true }];
  const agents = {
    main: { security: "allowlist", allowlist: allowlist("/bin/a") },
    default: { ask: "always", allowlist: allowlist("/bin/b") },
    "*": { security: "deny", allowlist: allowlist("/bin/c") },
  };
  await put(
    JSON.stringify({ version: 1, socket: { path: "x" }, defaults: { ask: "off", askFallback: "full" }, agents }),
  );
  const file = open();
  expect(patterns(file, "main")).toEqual(["/bin/a", "/bin/b", "/bin/c"]);
  expect(file.policy("main")).toMatchObject({ security: "allowlist", ask: "always", askFallback: "full" });
  expect(patterns(file, "other")).toEqual(["/bin/c"]);
  expect(file.policy("other")).toMatchObject({ security: "deny", ask: "off" });
  expect(patterns(file, "constructor")).toEqual(["/bin/c"]);
});

it("a change counts at once", async () => {
  const file = open();
  expect(patterns(file, "main")).toEqual([]);
  await put(JSON.stringify({ version: 1, agents: { main: { allowlist: [{ pattern: "/bin/a" }] } } }));
  expect(patterns(file, "main")).toEqual(["/bin/a"]);
  await rm(join(dir, "exec-approvals.json"));
  expect(patterns(file, "main")).toEqual([]);
});

it.each([
  "{",
  "[]",
  '{"version":2}',
  '{"version":1,"defaults":{"security":"none"}}',
  '{"version":1,"agents":{"main":{"allowlist":[{}]}}}',
])("a file that cannot be used makes every command ask, and says which file: %s", async (content) => {
  await put(content);
  const policy = open().policy("main");
  expect(policy).toMatchObject({ ask: "always", rows: [] });
  expect(policy.broken).toContain(join(dir, "exec-approvals.json"));
});
