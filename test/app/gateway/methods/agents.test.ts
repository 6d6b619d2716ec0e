import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { startGatewayFixture, type GatewayFixture } from "../../../kit/gateway/in-process.ts";
import type { RawClient } from "../../../kit/server/server.ts";
import { expectShape } from "../../../server/shapes.ts";

let fixture: GatewayFixture;
let client: RawClient;

const HEAD = "// the agents of the house\n";

beforeAll(async () => {
  fixture = await startGatewayFixture({ enabled: false });
  writeFileSync(join(fixture.dir, "openclaw.json"), HEAD + fixture.config());
  await fixture.restart();
  client = await fixture.client();
});
afterAll(async () => {
  await fixture.close();
});

const answered = z.looseObject({
  ok: z.boolean(),
  payload: z.looseObject({}).optional(),
  error: z.looseObject({ code: z.string(), message: z.string(), details: z.looseObject({}).optional() }).optional(),
});

async function call(method: string, params: object, shape: string) {
  const { payload, error } = answered.parse(await client.request(method, params));
  expect(error).toBeUndefined();
  expectShape(shape, payload);
  return payload;
}

async function refused(method: string, params: object) {
  const { error } = answered.parse(await client.request(method, params));
  return error;
}

const fileAnswer = z.looseObject({ file: z.looseObject({ hash: z.string().optional() }) });

const agents = async () =>
  z
    .looseObject({ agents: z.array(z.looseObject({ id: z.string() })) })
    .parse(await call("agents.list", {}, "AgentsListResult"));

const workspace = (id: string) => join(fixture.dir, `workspace-${id}`);

describe("an agent", () => {
  test("is added, changed, and removed with its bindings and jobs; the file keeps its comments", async () => {
    expect(await agents()).toMatchObject({
      defaultId: "main",
      mainKey: "main",
      scope: "per-sender",
      agents: [{ id: "main" }],
    });
    const made = await call(
      "agents.create",
      { name: "Night Owl", emoji: "🦉", model: "fake/fake-1" },
      "AgentsCreateResult",
    );
    expect(made).toEqual({
      ok: true,
      agentId: "night-owl",
      name: "Night Owl",
      workspace: workspace("night-owl"),
      model: "fake/fake-1",
    });
    expect(existsSync(join(workspace("night-owl"), "AGENTS.md"))).toBe(true);
    expect(fixture.config().startsWith(HEAD)).toBe(true);
    expect(await agents()).toMatchObject({
      defaultId: "main",
      agents: [
        { id: "main" },
        { id: "night-owl", name: "Night Owl", identity: { emoji: "🦉" }, model: { primary: "fake/fake-1" } },
      ],
    });

    await call("agents.update", { agentId: "night-owl", name: "Owl", model: null, emoji: "" }, "AgentsUpdateResult");
    const { agents: changed } = await agents();
    expect(changed[1]).toMatchObject({ name: "Owl", model: { primary: "fake/fake-1" } });
    expect(changed[1]).not.toHaveProperty("identity");
    expect(fixture.config()).not.toContain("🦉");

    const job = { schedule: { kind: "every", everyMs: 86_400_000 }, message: "look", agentId: "night-owl" };
    await client.request("cron.add", job);
    const patch = { bindings: [{ agentId: "night-owl", match: { channel: "telegram" } }] };
    await client.request("config.patch", { patch });
    const gone = await call("agents.delete", { agentId: "night-owl" }, "AgentsDeleteResult");
    expect(gone).toEqual({
      ok: true,
      agentId: "night-owl",
      removedBindings: 1,
      removed: [{ path: workspace("night-owl"), method: "trash" }],
      failed: [],
    });
    expect(existsSync(workspace("night-owl"))).toBe(false);
    const [kept = ""] = readdirSync(join(fixture.dir, "trash"));
    expect(existsSync(join(fixture.dir, "trash", kept, "AGENTS.md"))).toBe(true);
    expect(await agents()).toMatchObject({ agents: [{ id: "main" }] });
    expect(await client.request("cron.list", { enabled: "all" })).toMatchObject({ payload: { total: 0 } });
    expect(fixture.config()).not.toContain("night-owl");
  });

  test("that is the default is never removed, and a name is taken once", async () => {
    expect(await refused("agents.delete", { agentId: "main" })).toMatchObject({ code: "INVALID_REQUEST" });
    expect(await refused("agents.create", { name: "Main" })).toMatchObject({ code: "INVALID_REQUEST" });
    expect(await refused("agents.delete", { agentId: "nobody" })).toMatchObject({
      code: "INVALID_REQUEST",
      details: { kind: "NOT_FOUND" },
    });
    await call("agents.create", { name: "Twin" }, "AgentsCreateResult");
    expect(await refused("agents.create", { name: "twin" })).toMatchObject({ message: /already/ });
    expect(await refused("agents.create", { name: "!!!" })).toMatchObject({ code: "INVALID_REQUEST" });
  });

  test("whose workspace another agent uses keeps it when it is removed", async () => {
    await call("agents.create", { name: "Lodger", workspace: join(workspace("twin"), "lodge") }, "AgentsCreateResult");
    expect(
      await refused("agents.create", { name: "Guest", workspace: join(workspace("twin"), "lodge") }),
    ).toMatchObject({
      message: /workspace of agents\.list\[\d\] too/,
    });
    const gone = await call("agents.delete", { agentId: "lodger" }, "AgentsDeleteResult");
    expect(gone).toMatchObject({
      removed: [],
      failed: [{ path: join(workspace("twin"), "lodge"), reason: "another agent works there" }],
    });
    expect(existsSync(join(workspace("twin"), "AGENTS.md"))).toBe(true);
  });

  test("is not changed by a client that may only read and write", async () => {
    const writer = await fixture.client({ scopes: ["operator.read", "operator.write"] });
    for (const [method, params] of [
      ["agents.create", { name: "Sneak" }],
      ["agents.update", { agentId: "twin", name: "x" }],
      ["agents.delete", { agentId: "twin" }],
      ["agents.files.set", { agentId: "twin", name: "SOUL.md", content: "x" }],
    ] as const)
      expect(await writer.request(method, params), method).toMatchObject({ error: { code: "FORBIDDEN" } });
    expect(await writer.request("agents.list", {})).toMatchObject({ ok: true });
    writer.close();
  });
});

describe("the files of an agent", () => {
  const of = { agentId: "twin" };

  /** Calls a method whose answer has a file. The protocol's package is older than its hash, which 2026.9.6 has. */
  const ofFile = async (method: string, params: object, shape: string) => {
    const answer = fileAnswer.parse(answered.parse(await client.request(method, params)).payload);
    const { hash: _hash, ...older } = answer.file;
    expectShape(shape, { ...answer, file: older });
    return answer;
  };

  test("are those of the system prompt, and are read and replaced", async () => {
    const list = await call("agents.files.list", of, "AgentsFilesListResult");
    expect(list).toMatchObject({ agentId: "twin", workspace: workspace("twin") });
    expect(JSON.stringify(list)).toContain('"name":"MEMORY.md","path"');
    const set = { ...of, name: "SOUL.md", content: "Be kind.\n" };
    expect(await ofFile("agents.files.set", set, "AgentsFilesSetResult")).toMatchObject({
      ok: true,
      file: { name: "SOUL.md", missing: false, size: 9, content: "Be kind.\n" },
    });
    expect(readFileSync(join(workspace("twin"), "SOUL.md"), "utf8")).toBe("Be kind.\n");
    expect(await ofFile("agents.files.get", { ...of, name: "SOUL.md" }, "AgentsFilesGetResult")).toMatchObject({
      file: { content: "Be kind.\n" },
    });
    expect(await call("agents.files.get", { ...of, name: "MEMORY.md" }, "AgentsFilesGetResult")).toMatchObject({
      file: { name: "MEMORY.md", missing: true },
    });
  });

  test("are replaced only as they were read, where the client says so", async () => {
    const name = "USER.md";
    const read = async () => (await ofFile("agents.files.get", { ...of, name }, "AgentsFilesGetResult")).file;
    const set = (content: string, expectedHash: string) => ({ ...of, name, content, expectedHash });
    writeFileSync(join(workspace("twin"), name), "one");
    const { hash: ofOne = "" } = await read();
    expect(ofOne).toBe(createHash("sha256").update("one").digest("hex"));
    writeFileSync(join(workspace("twin"), name), "two");
    const { hash: ofTwo = "" } = await read();
    expect(await refused("agents.files.set", set("mine", ofOne))).toMatchObject({
      code: "INVALID_REQUEST",
      details: { type: "agent_file_conflict", name, currentHash: ofTwo },
    });
    expect(readFileSync(join(workspace("twin"), name), "utf8")).toBe("two");
    const both = await Promise.all(
      ["a", "b"].map((content) => client.request("agents.files.set", set(content, ofTwo.toUpperCase()))),
    );
    expect(both.filter((one) => answered.parse(one).ok)).toHaveLength(1);
    rmSync(join(workspace("twin"), name));
    const { details } = (await refused("agents.files.set", set("mine", ofTwo))) ?? {};
    expect(details).toMatchObject({ type: "agent_file_conflict" });
    expect(details).not.toHaveProperty("currentHash");
    expect(existsSync(join(workspace("twin"), name))).toBe(false);
    expect(await refused("agents.files.set", set("mine", "no hash"))).toMatchObject({ code: "INVALID_REQUEST" });
  });

  test.each([
    "../openclaw.json",
    "/etc/passwd",
    "notes.md",
    "memory/2026-01-01.md",
    "soul.md",
    "SOUL.md\0",
    "..",
    "AGENTS.md/../x",
  ])("have no other name: %j", async (name) => {
    expect(await refused("agents.files.get", { ...of, name })).toMatchObject({ code: "INVALID_REQUEST" });
    expect(await refused("agents.files.set", { ...of, name, content: "x" })).toMatchObject({ code: "INVALID_REQUEST" });
  });

  test("are not read and not written through a link that leads out, or in place of a folder", async () => {
    const secret = join(fixture.dir, "secret.txt");
    writeFileSync(secret, "token");
    symlinkSync(secret, join(workspace("twin"), "TOOLS.md"));
    mkdirSync(join(workspace("twin"), "USER.md.d"));
    expect(await refused("agents.files.get", { ...of, name: "TOOLS.md" })).toMatchObject({ message: /leads out/ });
    expect(await refused("agents.files.set", { ...of, name: "TOOLS.md", content: "x" })).toMatchObject({
      message: /leads out/,
    });
    expect(readFileSync(secret, "utf8")).toBe("token");
    mkdirSync(join(workspace("twin"), "MEMORY.md"));
    expect(await refused("agents.files.set", { ...of, name: "MEMORY.md", content: "x" })).toMatchObject({
      message: /no|not a regular/,
    });
  });

  test("have at most a megabyte", async () => {
    const content = "x".repeat(1_048_577);
    expect(await refused("agents.files.set", { ...of, name: "SOUL.md", content })).toMatchObject({ message: /1 MB/ });
  });
});

describe("the identity of an agent", () => {
  test("is that of the config, else of IDENTITY.md, else its id", async () => {
    const get = (params: object) => call("agent.identity.get", params, "AgentIdentityResult");
    expect(await get({})).toEqual({ agentId: "main", name: "main", nameSource: "default", avatarStatus: "none" });
    const content = "# Me\n- **Name:** Robin\n- **Emoji:** 🐦\n- **Theme:** (a few words)\n- **Avatar:** face.png\n";
    await client.request("agents.files.set", { agentId: "main", name: "IDENTITY.md", content });
    expect(await get({ sessionKey: "main" })).toMatchObject({
      name: "Robin",
      nameSource: "workspace",
      emoji: "🐦",
      avatarSource: "face.png",
      avatarStatus: "none",
    });
    writeFileSync(join(fixture.dir, "workspace", "face.png"), Buffer.from([0x89, 0x50]));
    expect(await get({ agentId: "main" })).toMatchObject({
      avatar: "data:image/png;base64,iVA=",
      avatarStatus: "local",
    });
    await call(
      "agents.update",
      { agentId: "twin", emoji: "👯", avatar: "https://example.org/twin.png" },
      "AgentsUpdateResult",
    );
    expect(await get({ sessionKey: "agent:twin:main" })).toEqual({
      agentId: "twin",
      name: "Twin",
      nameSource: "agent",
      emoji: "👯",
      avatar: "https://example.org/twin.png",
      avatarSource: "https://example.org/twin.png",
      avatarStatus: "remote",
    });
    await call("agents.update", { agentId: "twin", avatar: "../openclaw.png" }, "AgentsUpdateResult");
    expect(await get({ agentId: "twin" })).toMatchObject({
      avatarStatus: "none",
      avatarReason: "it is no file of the workspace",
    });
  });

  test("is shown without an IDENTITY.md that cannot be read", async () => {
    const file = join(fixture.dir, "workspace", "IDENTITY.md");
    rmSync(file, { force: true });
    mkdirSync(file);
    expect(await call("agent.identity.get", {}, "AgentIdentityResult")).toMatchObject({ nameSource: "default" });
    rmSync(file, { recursive: true });
  });

  test("of the config counts with theme, emoji and picture", async () => {
    const list = [
      { id: "main", default: true },
      {
        id: "twin",
        identity: { name: "Gemini", theme: "cheerful", emoji: "♊", avatar: "data:image/png;base64,AA==" },
      },
    ];
    await client.request("config.patch", { patch: { agents: { list } } });
    await expect
      .poll(async () => (await agents()).agents[1])
      .toMatchObject({
        identity: { name: "Gemini", theme: "cheerful", emoji: "♊", avatar: "data:image/png;base64,AA==" },
      });
    expect(await call("agent.identity.get", { agentId: "twin" }, "AgentIdentityResult")).toMatchObject({
      name: "Gemini",
      nameSource: "config",
      emoji: "♊",
      avatarStatus: "data",
    });
  });
});
