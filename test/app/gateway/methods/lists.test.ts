import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { startGatewayFixture, TOKEN, type GatewayFixture } from "../../../kit/gateway/in-process.ts";
import { connectParams, RawClient } from "../../../kit/server/server.ts";
import { startFakeModel, type FakeModel } from "../../../fakes/model.ts";
import { expectShape } from "../../../server/shapes.ts";

let model: FakeModel;
let fixture: GatewayFixture;
let client: RawClient;

const SESSION = "agent:main:main";
const SCOPES = ["operator.admin", "operator.approvals", "operator.pairing"];

beforeAll(async () => {
  model = await startFakeModel();
  model.answer(() => ({ text: "The tea is ready." }));
  fixture = await startGatewayFixture({ enabled: false }, model.url);
  client = await fixture.client({ scopes: SCOPES });
  const { payload } = z.looseObject({ payload: z.looseObject({ runId: z.string() }) }).parse(
    await client.request("chat.send", {
      sessionKey: SESSION,
      message: "Is the tea ready?",
      idempotencyKey: randomUUID(),
    }),
  );
  await client.request("agent.wait", { runId: payload.runId, timeoutMs: 60_000 });
});
afterAll(async () => {
  await fixture.close();
  await model.close();
});

const answered = z.looseObject({
  payload: z.unknown().optional(),
  error: z
    .looseObject({
      code: z.string(),
      message: z.string(),
      details: z.looseObject({ kind: z.string().optional() }).optional(),
    })
    .optional(),
});

async function ask(method: string, params: object = {}): Promise<unknown> {
  const { payload, error } = answered.parse(await client.request(method, params));
  expect(error, method).toBeUndefined();
  return payload;
}

describe("a list of the protocol has its shape", () => {
  const LISTS: readonly (readonly [method: string, params: object, shape: string])[] = [
    ["agents.workspace.list", { agentId: "main" }, "AgentsWorkspaceListResult"],
    ["agents.workspace.get", { agentId: "main", path: "AGENTS.md" }, "AgentsWorkspaceGetResult"],
    ["approval.history", { limit: 50 }, "ApprovalHistoryResult"],
    ["audit.list", { limit: 5 }, "AuditListResult"],
    ["artifacts.list", { sessionKey: SESSION }, "ArtifactsListResult"],
    ["environments.list", {}, "EnvironmentsListResult"],
    ["exec.approval.grants.list", {}, "ExecApprovalGrantsListResult"],
    ["migrations.memory.plan", { agentId: "main" }, "MigrationsMemoryPlanResult"],
    ["models.list", { view: "all" }, "ModelsListResult"],
    ["models.list", { view: "configured" }, "ModelsListResult"],
    ["models.probe", { provider: "fake" }, "ModelsProbeResult"],
    ["models.probe", { provider: "unknown" }, "ModelsProbeResult"],
    ["plugins.list", {}, "PluginsListResult"],
    ["plugins.inspect", { pluginId: "telegram" }, "PluginsInspectResult"],
    ["plugins.refresh", {}, "PluginsRefreshResult"],
    ["projects.list", {}, "ProjectsListResult"],
    ["taskSuggestions.list", { agentId: "main" }, "TaskSuggestionsListResult"],
    ["portal.list", {}, "PortalListResult"],
    ["progressCard.get", { sessionKey: SESSION }, "ProgressCardGetResult"],
    ["question.list", {}, "QuestionListResult"],
    ["skills.curator.status", {}, "SkillsCuratorStatusResult"],
    ["skills.securityVerdicts", {}, "SkillsSecurityVerdictsResult"],
    ["skills.proposals.list", {}, "SkillsProposalsListResult"],
    ["talk.catalog", {}, "TalkCatalogResult"],
    ["tools.catalog", { agentId: "main" }, "ToolsCatalogResult"],
    ["tools.effective", { sessionKey: SESSION }, "ToolsEffectiveResult"],
    ["tools.invoke", { name: "session_status" }, "ToolsInvokeResult"],
    ["tools.invoke", { name: "nothing" }, "ToolsInvokeResult"],
    ["tools.github.status", { agentId: "main", selectedScope: "agent" }, "ToolsGitHubStatusResult"],
    ["worktrees.list", {}, "WorktreesListResult"],
  ];
  test.each(LISTS)("%s %j", async (method, params, shape) => {
    const answer = await ask(method, params);
    expect(answer).toBeDefined();
    expectShape(shape, answer);
  });
});

test("skills.search asks the registry, and says what does not answer", async () => {
  const asked: string[] = [];
  const row = {
    slug: "tea",
    displayName: "Tea",
    summary: "About tea.",
    ownerHandle: "ann",
    updatedAt: 1_700_000_000_000,
  };
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ results: [row] }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = z.looseObject({ port: z.number() }).parse(server.address());
  vi.stubEnv("OPENCLAW_CLAWHUB_URL", `http://127.0.0.1:${port}`);
  try {
    const answer = await ask("skills.search", { query: "tea time", limit: 5 });
    const [{ registry, ownerHandle, ...older } = {}] = z
      .looseObject({ results: z.array(z.looseObject({})) })
      .parse(answer).results;
    // The protocol's package is older than 2026.9.6, which has these two.
    expectShape("SkillsSearchResult", { results: [older] });
    expect([registry, ownerHandle]).toEqual([`http://127.0.0.1:${port}/`, "ann"]);
    expect(older).toMatchObject({ slug: "tea", installRef: "@ann/tea", displayName: "Tea" });
    expect(asked[0]).toMatch(/^\/api\/v1\/search\?q=tea\+time&limit=5$/);
    await new Promise((resolve) => server.close(resolve).closeAllConnections());
    const { error } = answered.parse(await client.request("skills.search", { query: "tea" }));
    expect(error).toMatchObject({ code: "UNAVAILABLE" });
  } finally {
    vi.unstubAllEnvs();
    server.close();
  }
});

test.each([
  ["doctor.memory.status", { agentId: "main", embedding: { ok: false, checked: false }, dreaming: { enabled: false } }],
  ["doctor.memory.dreamDiary", { agentId: "main", found: false }],
  ["talk.config", { config: {} }],
  ["device.pair.list", { pending: [], paired: [] }],
  ["node.list", { nodes: [] }],
  ["node.pair.list", { pending: [], paired: [] }],
  ["skills.library.list", { entries: [] }],
  ["themes.list", { current: { id: "claw" }, themes: [{ id: "claw" }] }],
  ["transcripts.list", { sessions: [], nextCursor: null }],
  ["users.list", { profiles: [] }],
  ["users.prefs.get", { status: "no_durable_identity" }],
  ["update.runs.get", { run: null }],
  ["plugins.uiDescriptors", { ok: true, descriptors: [] }],
])("%s has what clients read of it", async (method, answer) => expect(await ask(method)).toMatchObject(answer));

test("the plugins that come with the gateway are listed, found in the catalog, and switched as the config can", async () => {
  const listed = z
    .looseObject({ plugins: z.array(z.looseObject({ id: z.string(), description: z.string(), state: z.string() })) })
    .parse(await ask("plugins.list")).plugins;
  const ids = listed.map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining(["telegram", "memory-core", "webchat", "llm-task"]));
  expect(listed.filter(({ description }) => description === "")).toEqual([]);
  expect(await ask("plugins.catalog.browse", { query: "TELEGR", pageSize: 1 })).toMatchObject({
    items: [{ catalog: { name: "Telegram" }, local: { pluginId: "telegram", action: "manage" } }],
  });
  const page = z.looseObject({ items: z.array(z.unknown()), nextCursor: z.string() });
  const { nextCursor } = page.parse(await ask("plugins.catalog.browse", { pageSize: 2 }));
  expect(await ask("plugins.catalog.browse", { cursor: nextCursor })).toMatchObject({
    items: { length: ids.length - 2 },
  });
  expect(await ask("plugins.catalog.browse", { intent: "trending" })).toEqual({ items: [] });
  const off = await ask("plugins.setEnabled", { pluginId: "memory-core", enabled: false });
  expect(off).toMatchObject({ ok: true, plugin: { enabled: false, state: "disabled" } });
  expect(await ask("plugins.setEnabled", { pluginId: "memory-core", enabled: true })).toMatchObject({ ok: true });
  for (const pluginId of ["llm-task", "webchat"])
    expect(await client.request("plugins.setEnabled", { pluginId, enabled: false })).toMatchObject({
      error: { code: "INVALID_REQUEST", message: expect.stringContaining("part of the gateway") },
    });
  expect(await client.request("plugins.setEnabled", { pluginId: "signal", enabled: true })).toMatchObject({
    error: { code: "INVALID_REQUEST", message: expect.stringContaining("no account yet") },
  });
});

const auditPage = z.looseObject({
  events: z.array(
    z.looseObject({ sequence: z.number(), occurredAt: z.number(), status: z.string(), runId: z.string() }),
  ),
  nextCursor: z.string().optional(),
});

test("the audit shows when runs began and ended, page by page, and only what is asked for", async () => {
  const { events } = auditPage.parse(await ask("audit.list"));
  expect(events.map(({ status }) => status)).toEqual(["succeeded", "started"]);
  expect(await ask("audit.activity.list")).toEqual({
    events: events.map((one) => ({ ...one, schemaVersion: 1, eventType: "agent_run" })),
  });
  const first = auditPage.parse(await ask("audit.list", { limit: 1 }));
  expect(first.events).toEqual(events.slice(0, 1));
  const second = auditPage.parse(await ask("audit.list", { limit: 1, cursor: first.nextCursor }));
  expect(second).toEqual({ events: events.slice(1) });
  const begun = events[1]?.occurredAt ?? 0;
  for (const none of [
    { kind: "message" },
    { status: "failed" },
    { runId: "another" },
    { sessionKey: "agent:main:another" },
    { before: begun - 1 },
    { direction: "inbound" },
  ]) {
    expect(await ask("audit.list", none), JSON.stringify(none)).toEqual({ events: [] });
  }
  expect(auditPage.parse(await ask("audit.list", { status: "started" })).events).toHaveLength(1);
});

test("a system event waits for the next turn, and needs a conversation that is there", async () => {
  expect(await ask("system-event", { text: "The kettle is on." })).toEqual({ ok: true });
  expect(await ask("system-event", { text: "It boils.", sessionKey: SESSION })).toEqual({ ok: true });
  const answer = await client.request("system-event", { text: "a", sessionKey: "agent:main:nobody" });
  expect(answer).toMatchObject({ error: { code: "INVALID_REQUEST", details: { kind: "NOT_FOUND" } } });
});

test("a stored key is taken away, and no other", async () => {
  const file = join(fixture.dir, "credentials/auth-profiles.json");
  const key = (provider: string) => ({ type: "api_key", provider, key: "k-1" });
  const profiles = { "acme:work": key("acme"), "acme:home": key("acme"), "other:x": key("other") };
  writeFileSync(file, JSON.stringify({ version: 1, profiles }));
  expect(await ask("models.authLogout", { provider: "acme", profileIds: ["acme:work"] })).toEqual({
    provider: "acme",
    removedProfiles: ["acme:work"],
    abortedRunIds: [],
  });
  const kept = z.looseObject({ profiles: z.looseObject({}) }).parse(JSON.parse(readFileSync(file, "utf8")));
  expect(Object.keys(kept.profiles)).toEqual(["acme:home", "other:x"]);
  expect(await ask("models.authLogout", { provider: "nothing" })).toMatchObject({ removedProfiles: [] });
});

test("no system agent asks for anything", async () => expect(await ask("openclaw.approval.list")).toEqual([]));

test("an unknown agent is refused", async () => {
  for (const method of ["progressCard.get", "models.list", "models.authStatus", "tools.github.status"])
    expect(answered.parse(await client.request(method, { agentId: "nobody" })).error?.details?.kind, method).toBe(
      "NOT_FOUND",
    );
});

test("the hello tells the capability that the command line of OpenClaw needs for models", async () => {
  const another = new RawClient(fixture.http.replace("http", "ws"));
  const hello = await another.connect(connectParams(TOKEN));
  expect(hello).toMatchObject({ payload: { features: { capabilities: ["published-model-catalog"] } } });
  another.close();
});

describe("models", () => {
  test("the agent's own one is marked, with the levels at which it can think", async () => {
    expect(await ask("models.list", { provider: "fake" })).toMatchObject({
      models: [
        { id: "fake-1", provider: "fake", tags: ["default"], thinkingLevels: [{ id: "off" }], thinkingDefault: "off" },
      ],
    });
    expect(await ask("models.list", { provider: "unknown" })).toEqual({ models: [] });
  });

  test("the keys are shown without their secrets, and tried", async () => {
    const status = await ask("models.authStatus");
    expect(status).toMatchObject({
      providers: expect.arrayContaining([
        expect.objectContaining({
          provider: "fake",
          status: "static",
          profiles: [expect.objectContaining({ type: "api_key", source: "config" })],
        }),
      ]),
    });
    expect(await ask("models.probe", { provider: "fake" })).toMatchObject({
      status: "ok",
      results: [{ status: "ok" }],
    });
  });
});

describe("usage", () => {
  const counts = { total: 2, user: 1, assistant: 1, toolCalls: 0, toolResults: 0, errors: 0 };
  const costs = { inputCost: 0, outputCost: 0, cacheReadCost: 0, cacheWriteCost: 0 };

  test("is divided as the page of OpenClaw reads it, and unpriced calls are counted", async () => {
    const { sessions, totals, aggregates } = z
      .looseObject({
        sessions: z.array(z.unknown()),
        totals: z.looseObject({ calls: z.number(), totalTokens: z.number() }),
        aggregates: z.unknown(),
      })
      .parse(await ask("sessions.usage", { range: "7d", groupBy: "instance", limit: 1000 }));
    const { calls, totalTokens } = totals;
    const sum = { totalTokens, missingCostEntries: calls, ...costs };
    expect(totals).toMatchObject(sum);
    expect(sessions).toMatchObject([
      {
        key: SESSION,
        agentId: "main",
        scope: "instance",
        usage: {
          ...sum,
          messageCounts: counts,
          dailyMessageCounts: [counts],
          dailyBreakdown: [{ tokens: totalTokens }],
        },
      },
    ]);
    const ref = { provider: "fake", model: "fake-1" };
    const date = expect.stringMatching(/^\d{4}-\d\d-\d\d$/);
    expect(aggregates).toMatchObject({
      sessionCount: 1,
      messages: counts,
      tools: { totalCalls: 0, uniqueTools: 0, tools: [] },
      byProvider: [{ provider: "fake", count: expect.any(Number) }],
      byModel: [{ ...ref, totals: { missingCostEntries: expect.any(Number) } }],
      byChannel: [{ channel: "webchat", totals: sum }],
      byAgent: [{ agentId: "main" }],
      latency: { count: 1 },
      dailyLatency: [{ date, count: 1 }],
      costDaily: [{ date, ...sum }],
      modelDaily: [{ date, ...ref }],
      daily: [{ date, tokens: totalTokens, cost: 0, messages: 2, toolCalls: 0, errors: 0 }],
    });
    expect(answered.parse(await client.request("sessions.usage", { creatorKey: "somebody" })).error?.code).toBe(
      "INVALID_REQUEST",
    );
  });

  test("of one session is a line of calls and a log of messages", async () => {
    const { points } = z
      .looseObject({ points: z.array(z.looseObject({ totalTokens: z.number(), cumulativeTokens: z.number() })) })
      .parse(await ask("sessions.usage.timeseries", { key: SESSION }));
    expect(points.at(-1)?.cumulativeTokens).toBe(points.reduce((sum, point) => sum + point.totalTokens, 0));
    expect(points.length).toBeGreaterThan(0);
    expect(await ask("sessions.usage.logs", { key: SESSION })).toMatchObject({
      logs: [
        { role: "user", content: "Is the tea ready?" },
        { role: "assistant", content: "The tea is ready." },
      ],
    });
    expect(await ask("sessions.usage.timeseries", { key: "agent:main:unknown" })).toEqual({ points: [] });
    expect(await ask("sessions.usage.logs", { key: "agent:main:unknown" })).toEqual({ logs: [] });
  });
});

describe("scheduled jobs", () => {
  const page = z.looseObject({ jobs: z.array(z.unknown()), snapshotRevision: z.string() });
  const add = (name: string, more: object = {}) =>
    ask("cron.add", {
      name,
      schedule: { kind: "cron", expr: "0 7 * * *", tz: "UTC" },
      payload: { kind: "agentTurn", message: "Make tea." },
      sessionTarget: "isolated",
      ...more,
    });

  test("come in pages of one snapshot, compact on request, with the place of their reports", async () => {
    await add("tea", { delivery: { mode: "none" } });
    await add("cake", { delivery: { mode: "webhook", to: "https://cake.example.org/" } });
    const first = page.parse(await ask("cron.list", { limit: 1, sortBy: "name" }));
    const second = page.parse(await ask("cron.list", { limit: 1, offset: 1, sortBy: "name" }));
    expect(second.snapshotRevision).toBe(first.snapshotRevision);
    expect([...first.jobs, ...second.jobs]).toMatchObject([
      { name: "cake" },
      { name: "tea", effectiveAgentId: "main" },
    ]);
    const compact = page.parse(
      await ask("cron.list", { compact: true, sortBy: "name", includeDeliveryPreviews: true }),
    );
    expect(compact.jobs[1]).toMatchObject({ name: "tea", scheduleKind: "cron", lastRunAt: null, lastRunStatus: null });
    expect(compact.jobs[1]).not.toHaveProperty("payload");
    expect(Object.values(Object(compact["deliveryPreviews"]))).toEqual(
      expect.arrayContaining([
        { label: "not requested", detail: "not requested" },
        { label: "webhook", detail: "https://cake.example.org/" },
      ]),
    );
    await add("bread");
    expect(page.parse(await ask("cron.list", { limit: 1, sortBy: "name" })).snapshotRevision).not.toBe(
      first.snapshotRevision,
    );
  });
});

test("a search for a list answers with the rows of what it found", async () => {
  const found = await ask("sessions.search", { query: "tea ready", scope: { agentId: "main", includeGlobal: true } });
  expect(found).toMatchObject({ sessions: [{ key: SESSION, agentId: "main", sessionId: expect.any(String) }] });
  expect(await ask("sessions.search", { query: "tea", scope: { spawnedBy: SESSION } })).toMatchObject({ sessions: [] });
  const plain = await ask("sessions.search", { query: "tea" });
  expect(plain).not.toHaveProperty("sessions");
  expectShape("SessionsSearchResult", plain);
});

test("the files of a session are what its agent read and wrote, and the folders of the workspace", async () => {
  const folder = join(fixture.dir, "workspace");
  mkdirSync(join(folder, "trip", "sea"), { recursive: true });
  writeFileSync(join(folder, "trip", "plan.md"), "To the sea.");
  writeFileSync(join(folder, "trip", "sea", "photo.bin"), Buffer.from([0, 1, 2]));
  symlinkSync(join(fixture.dir, "openclaw.json"), join(folder, "trip", "link.md"));
  const sessionKey = "agent:main:trip";
  model.answer((call) => {
    if (call.isAfterTool) return { text: "Done." };
    if (call.said.includes("read it")) return { tool: "read", args: { path: "trip/plan.md" } };
    return { tool: "write", args: { path: "trip/bag.md", content: "Towels." } };
  });
  for (const message of ["read it", "write it"]) {
    const { runId } = z
      .looseObject({ runId: z.string() })
      .parse(await ask("chat.send", { sessionKey, message, idempotencyKey: randomUUID() }));
    await ask("agent.wait", { runId, timeoutMs: 60_000 });
  }
  model.answer(() => ({ text: "The tea is ready." }));
  const list = await ask("sessions.files.list", { sessionKey, path: "trip", search: "" });
  expectShape("SessionsFilesListResult", list);
  expect(list).toMatchObject({
    sessionKey,
    root: folder,
    files: [
      { path: "trip/plan.md", kind: "read", missing: false, size: 11 },
      { path: "trip/bag.md", kind: "modified", missing: false, size: 7 },
    ],
    browser: {
      path: "trip",
      parentPath: "",
      entries: [
        { path: "trip/sea", kind: "directory" },
        { path: "trip/bag.md", sessionKind: "modified" },
        { path: "trip/plan.md", sessionKind: "read" },
      ],
    },
  });
  const found = await ask("sessions.files.list", { sessionKey, search: "PHOTO" });
  expectShape("SessionsFilesListResult", found);
  expect(found).toMatchObject({ browser: { search: "PHOTO", entries: [{ path: "trip/sea/photo.bin", size: 3 }] } });
  const bag = await ask("sessions.files.get", { sessionKey, path: "trip/bag.md" });
  expectShape("SessionsFilesGetResult", bag);
  expect(bag).toMatchObject({ file: { kind: "modified", content: "Towels.", previewKind: "text" } });
  expect(await ask("sessions.files.get", { sessionKey, path: "trip/sea/photo.bin" })).toMatchObject({
    file: { kind: "read", previewKind: "unsupported" },
  });
  for (const path of ["trip/link.md", "../openclaw.json", "none.md"]) {
    const { error } = answered.parse(await client.request("sessions.files.get", { sessionKey, path }));
    expect(error?.details?.kind, path).toBe("NOT_FOUND");
  }
});

describe("tools", () => {
  const listed = z.looseObject({
    groups: z.array(
      z.looseObject({ id: z.string(), tools: z.array(z.looseObject({ id: z.string(), description: z.string() })) }),
    ),
  });
  const namesIn = (answer: unknown) => listed.parse(answer).groups.flatMap(({ tools }) => tools.map(({ id }) => id));

  test("of the catalogue are all tools, those of a session what its rules leave", async () => {
    const all = await ask("tools.catalog");
    const fs = listed.parse(all).groups.find(({ id }) => id === "fs");
    expect(fs?.tools.find(({ id }) => id === "read")).toMatchObject({
      source: "core",
      defaultProfiles: ["coding"],
      description: expect.stringMatching(/./),
    });
    await ask("config.patch", { raw: JSON.stringify({ tools: { deny: ["read"] } }) });
    await expect.poll(async () => namesIn(await ask("tools.effective", { sessionKey: SESSION }))).not.toContain("read");
    expect(namesIn(await ask("tools.effective", { sessionKey: SESSION }))).toContain("session_status");
    expect(namesIn(await ask("tools.catalog"))).toEqual(namesIn(all));
    const other = { sessionKey: SESSION, agentId: "other" };
    expect(answered.parse(await client.request("tools.effective", other)).error?.code).toBe("INVALID_REQUEST");
  });

  test("are called by a client, within the rules", async () => {
    expect(await ask("tools.invoke", { name: "session_status", sessionKey: SESSION })).toMatchObject({
      ok: true,
      toolName: "session_status",
      output: { content: [{ type: "text" }] },
    });
    expect(await ask("tools.invoke", { name: "nothing" })).toMatchObject({ ok: false, error: { code: "not_found" } });
    expect(await ask("tools.invoke", { name: "session_status", agentId: "nobody" })).toMatchObject({ ok: false });
  });
});

describe("skills", () => {
  const skill = (name: string, metadata: object = {}) => {
    const folder = join(fixture.dir, "workspace", "skills", name);
    mkdirSync(folder, { recursive: true });
    const head = `name: ${name}\ndescription: About ${name}.\nmetadata: ${JSON.stringify({ openclaw: metadata })}`;
    writeFileSync(join(folder, "SKILL.md"), `---\n${head}\n---\nText.\n`);
  };
  const status = async (name: string) =>
    z
      .looseObject({ skills: z.array(z.looseObject({ name: z.string() })) })
      .parse(await ask("skills.status"))
      .skills.find((one) => one.name === name);

  test("are shown with what they miss, and switched off", async () => {
    skill("tea-making");
    skill("tea-tasting", { requires: { bins: ["no-such-program"], env: ["NO_SUCH_VARIABLE"] } });
    const found = { source: "openclaw-workspace", bundled: false, disabled: false };
    expect(await status("tea-making")).toMatchObject({
      ...found,
      eligible: true,
      modelVisible: true,
      commandVisible: true,
    });
    expect(await status("tea-tasting")).toMatchObject({
      ...found,
      eligible: false,
      modelVisible: false,
      missing: { bins: ["no-such-program"], env: ["NO_SUCH_VARIABLE"], anyBins: [], config: [], os: [] },
    });
    expect(await ask("skills.update", { skillKey: "tea-making", enabled: false })).toEqual({
      ok: true,
      skillKey: "tea-making",
      config: { enabled: false },
    });
    await expect.poll(() => status("tea-making")).toMatchObject({ disabled: true, eligible: false });
  });

  test("get their keys from a client, which are kept at a placeholder and removed by an empty text", async () => {
    const written = () =>
      z
        .looseObject({ skills: z.looseObject({ entries: z.record(z.string(), z.unknown()) }) })
        .parse(JSON.parse(readFileSync(join(fixture.dir, "openclaw.json"), "utf8"))).skills.entries["tea-tasting"];
    const update = (values: object) => ask("skills.update", { skillKey: "tea-tasting", ...values });
    await update({ apiKey: " k-1 ", env: { CUP: "large", SPOON: "small" } });
    expect(written()).toEqual({ apiKey: "k-1", env: { CUP: "large", SPOON: "small" } });
    await update({ apiKey: "__OPENCLAW_REDACTED__", env: { CUP: "__OPENCLAW_REDACTED__", SPOON: "" } });
    expect(written()).toEqual({ apiKey: "k-1", env: { CUP: "large" } });
    await update({ apiKey: "" });
    expect(written()).toEqual({ env: { CUP: "large" } });
  });
});

test("the files of a workspace are shown, and nothing outside of it", async () => {
  const folder = join(fixture.dir, "workspace");
  mkdirSync(join(folder, "tea"));
  writeFileSync(join(folder, "tea", "green.md"), "Green tea.");
  writeFileSync(join(folder, "tea", "leaf.bin"), Buffer.from([0, 1, 2]));
  symlinkSync(join(fixture.dir, "openclaw.json"), join(folder, "tea", "config.md"));
  linkSync(join(fixture.dir, "openclaw.json"), join(folder, "tea", "second-name.md"));
  expect(await ask("agents.workspace.list", { agentId: "main", path: "tea" })).toMatchObject({
    path: "tea",
    parentPath: "",
    entries: [{ path: "tea/green.md", kind: "file", size: 10 }, { name: "leaf.bin" }, { name: "second-name.md" }],
    totalEntries: 3,
  });
  expect(await ask("agents.workspace.get", { agentId: "main", path: "./tea/green.md" })).toMatchObject({
    file: { path: "tea/green.md", content: "Green tea.", encoding: "utf8" },
  });
  const refused = async (path: string) =>
    answered.parse(await client.request("agents.workspace.get", { agentId: "main", path })).error?.details?.kind;
  for (const path of [
    "tea/config.md",
    "tea/second-name.md",
    "../openclaw.json",
    join(fixture.dir, "openclaw.json"),
    "tea",
    "none.md",
    "a\0b",
  ])
    expect(await refused(path), path).toBe("NOT_FOUND");
  const ofSession = { sessionKey: SESSION, path: "tea/second-name.md" };
  expect(answered.parse(await client.request("sessions.files.get", ofSession)).error?.details?.kind).toBe("NOT_FOUND");
  const params = { agentId: "main", path: "tea/leaf.bin" };
  expect(await client.request("agents.workspace.get", params)).toMatchObject({ error: { code: "INVALID_REQUEST" } });
});

test("the message of OpenClaw's command line is sent as by send, and other acts are refused", async () => {
  const asked = { channel: "telegram", idempotencyKey: randomUUID() };
  const sent = await client.request("message.action", {
    ...asked,
    action: "send",
    params: { target: "1001", message: "hi" },
  });
  const direct = await client.request("send", {
    channel: "telegram",
    to: "1001",
    message: "hi",
    idempotencyKey: randomUUID(),
  });
  expect(answered.parse(sent).error).toEqual(answered.parse(direct).error);
  const other = await client.request("message.action", { ...asked, action: "pin", params: {} });
  expect(answered.parse(other).error).toMatchObject({ code: "INVALID_REQUEST" });
});

test("the last heartbeat tells when it ended, and how", async () => {
  expect(await ask("last-heartbeat")).toBeNull();
  const plan = await ask("last-heartbeat", { agents: true });
  expect(plan).toMatchObject({ agents: [{ agentId: "main", nextAt: expect.any(Number) }] });
  expect(plan).not.toHaveProperty("status");
  await ask("wake", { mode: "now", text: "The kettle is on." });
  await expect
    .poll(() => ask("last-heartbeat"))
    .toMatchObject({ enabled: true, ts: expect.any(Number), status: expect.stringMatching(/^(?:sent|ok-token)$/) });
});

test("speech is shown with its services, and switched", async () => {
  expect(await ask("tts.status")).toMatchObject({ enabled: false, auto: "off", provider: "", providerStates: [] });
  const providers = { piper: { command: ["piper", "{{OutputPath}}.wav"] }, cloud: { voice: "calm" } };
  await ask("config.patch", { raw: JSON.stringify({ messages: { tts: { providers } } }) });
  const services = [
    { id: "piper", configured: true },
    { id: "cloud", configured: false },
  ];
  await expect.poll(() => ask("tts.status")).toMatchObject({ provider: "piper", providerStates: services });
  expect(await ask("tts.providers")).toMatchObject({
    active: "piper",
    providers: [{ models: [] }, { voices: ["calm"] }],
  });
  expect(await ask("tts.enable")).toEqual({ enabled: true });
  await expect.poll(() => ask("tts.status")).toMatchObject({ enabled: true, auto: "always" });
  expect(await ask("tts.setProvider", { provider: "cloud" })).toEqual({ provider: "cloud" });
  await expect.poll(() => ask("tts.status")).toMatchObject({ provider: "cloud", fallbackProviders: ["piper"] });
  expect(await ask("tts.disable")).toEqual({ enabled: false });
  await expect.poll(() => ask("tts.status")).toMatchObject({ enabled: false });
  expect(answered.parse(await client.request("tts.setProvider", { provider: "none" })).error?.code).toBe(
    "INVALID_REQUEST",
  );
});
