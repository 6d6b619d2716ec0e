import { chmodSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startGatewayFixture, type GatewayFixture } from "../../kit/gateway/in-process.ts";
import type { RawClient } from "../../kit/server/server.ts";

/** `exec-approvals.json` as a client of the protocol reads and replaces it. */
let fixture: GatewayFixture;
let path: string;
beforeAll(async () => {
  fixture = await startGatewayFixture();
  path = join(fixture.dir, "exec-approvals.json");
});
beforeEach(() => rmSync(path, { force: true }));
afterAll(() => fixture.close());

const client = (scopes: readonly string[] = ["operator.admin"]): Promise<RawClient> => fixture.client({ scopes });

const put = (document: object) => writeFileSync(path, JSON.stringify(document), { mode: 0o600 });
const content = () => JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
const payload = (answer: Record<string, unknown>) =>
  answer["payload"] as { hash: string; file: Record<string, unknown> };
const NEW = { version: 1, agents: { main: { allowlist: [{ pattern: "/usr/bin/rg" }] } } };

test("a client writes the first document, reads it, and replaces it by its hash", async () => {
  const admin = await client();
  expect(await admin.request("exec.approvals.get")).toMatchObject({
    payload: { path, exists: false, file: { version: 1 } },
  });
  const first = await admin.request("exec.approvals.set", { file: NEW });
  expect(first).toMatchObject({ payload: { exists: true, file: NEW } });
  expect(content()).toEqual(NEW);
  const read = await admin.request("exec.approvals.get");
  expect(payload(read).hash).toBe(payload(first).hash);
  const file = { version: 1, defaults: { security: "deny" } };
  const second = await admin.request("exec.approvals.set", { file, baseHash: payload(read).hash });
  expect(content()).toEqual(file);
  expect(payload(second).hash).not.toBe(payload(first).hash);
});

test("what the command line shows as the hash is the hash of the method", async () => {
  put(NEW);
  const { hash } = await fixture.json("approvals", "get", "--json");
  expect(payload(await (await client()).request("exec.approvals.get")).hash).toBe(hash);
});

test("a change for an older state, or for none, is refused and writes nothing", async () => {
  const admin = await client();
  put(NEW);
  const { hash } = payload(await admin.request("exec.approvals.get"));
  const other = { version: 1, defaults: { ask: "always" } };
  put(other);
  expect(await admin.request("exec.approvals.set", { file: NEW, baseHash: hash })).toMatchObject({
    error: { code: "INVALID_REQUEST", details: { kind: "CONFLICT", code: "APPROVALS_CHANGED" } },
  });
  expect(await admin.request("exec.approvals.set", { file: NEW })).toMatchObject({
    error: { code: "INVALID_REQUEST", details: { code: "BASE_HASH_REQUIRED" } },
  });
  expect(content()).toEqual(other);
});

test("of changes for the same state at the same time one is written", async () => {
  const admin = await client();
  put({ version: 1 });
  const { hash } = payload(await admin.request("exec.approvals.get"));
  const answers = await Promise.all(
    ["a", "b", "c", "d"].map((pattern) =>
      admin.request("exec.approvals.set", {
        file: { version: 1, agents: { main: { allowlist: [{ pattern }] } } },
        baseHash: hash,
      }),
    ),
  );
  expect(answers.filter(({ ok }) => ok === true)).toHaveLength(1);
  expect(payload(answers.find(({ ok }) => ok === true)!).file).toEqual(content());
});

test("the token of `socket` is neither shown nor replaced, and the hash does not depend on it", async () => {
  const admin = await client();
  put({ ...NEW, socket: { path: "/run/x.sock", token: "hunter2" } });
  const read = await admin.request("exec.approvals.get");
  expect(JSON.stringify(read)).not.toContain("hunter2");
  const { hash } = payload(read);
  const file = { ...NEW, socket: { path: "/run/mine.sock", token: "mine" } };
  const answer = await admin.request("exec.approvals.set", { file, baseHash: hash });
  expect(JSON.stringify(answer)).not.toMatch(/hunter2|mine/);
  expect(content()["socket"]).toEqual({ path: "/run/x.sock", token: "hunter2" });
  put(NEW);
  expect(payload(await admin.request("exec.approvals.get")).hash).toBe(hash);
});

test.each([["operator.read", "operator.write", "operator.approvals", "operator.pairing"]])(
  "nobody without operator.admin reads or replaces it (%s and the others)",
  async (...scopes) => {
    const writer = await client(scopes);
    for (const method of ["exec.approvals.get", "exec.approvals.set"])
      expect(await writer.request(method, { file: NEW })).toMatchObject({ error: { code: "FORBIDDEN" } });
    expect(existsSync(path)).toBe(false);
  },
);

test("a document that is not valid, or that the gateway must not trust, is neither written nor replaced", async () => {
  const admin = await client();
  const set = (file: object) => admin.request("exec.approvals.set", { file });
  const refused = { error: { code: "UNAVAILABLE", details: { code: "APPROVALS_UNUSABLE" } } };
  expect(await set({ version: 2 })).toMatchObject(refused);
  expect(await set({ version: 1, defaults: { security: "all" } })).toMatchObject(refused);
  expect(existsSync(path)).toBe(false);
  put(NEW);
  chmodSync(path, 0o666);
  expect(await admin.request("exec.approvals.get")).toMatchObject(refused);
  expect(await set({ version: 1 })).toMatchObject(refused);
  rmSync(path);
  symlinkSync(join(fixture.dir, "openclaw.json"), path);
  expect(await set({ version: 1 })).toMatchObject(refused);
  expect(readFileSync(join(fixture.dir, "openclaw.json"), "utf8")).toContain("channels");
  rmSync(path);
});
