import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { startFakeModel, type FakeModel } from "../../../fakes/model.ts";
import { startGatewayFixture, type GatewayFixture } from "../../../kit/gateway/in-process.ts";
import type { RawClient } from "../../../kit/server/server.ts";
import { replyTo } from "../../../peers/real-gateway/gateways.ts";
import { expectShape } from "../../../server/shapes.ts";
import { until } from "../../../kit/until.ts";

const KEY = "agent:main:pictures";
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const IMAGE = { type: "image", mimeType: "image/png", sizeBytes: 70, sessionKey: KEY, source: "session-transcript" };

let model: FakeModel;
let fixture: GatewayFixture;
let client: RawClient;
/** The runs of the messages, in their order. */
const runs: string[] = [];

beforeAll(async () => {
  model = await startFakeModel();
  model.answer((call) => (call.said.includes("bring") ? { text: "Here.\n[[media:tea.txt]]" } : replyTo(call)));
  fixture = await startGatewayFixture({ enabled: false }, model.url);
  client = await fixture.client();
  await say("look", { attachments: [{ type: "image", mimeType: "image/png", fileName: "dot.png", content: PNG }] });
  const workspace = join(fixture.dir, "workspace");
  writeFileSync(join(workspace, "out.png"), Buffer.from(PNG, "base64"));
  writeFileSync(join(workspace, "tea.txt"), "two spoons");
  await say(`TOOL:read {"path":"out.png"}`);
  await say("bring the list");
  // Files are noted after the run.
  await until(async () => (await listed({ runId: runs[2] })).artifacts.length === 1, "the file of the answer");
});
afterAll(async () => {
  await fixture.close();
  await model.close();
});

const ask = (method: string, params: object) => client.request(method, params);

async function say(message: string, more: object = {}): Promise<void> {
  const idempotencyKey = `pictures-${runs.length}`;
  await ask("chat.send", { sessionKey: KEY, message, idempotencyKey, ...more });
  expect(await ask("agent.wait", { runId: idempotencyKey, timeoutMs: 60_000 })).toMatchObject({
    payload: { status: "ok" },
  });
  runs.push(idempotencyKey);
}

const list = z.object({
  artifacts: z.array(z.looseObject({ id: z.string(), type: z.string(), title: z.string() })),
  nextCursor: z.string().optional(),
});
async function listed(params: object): Promise<z.output<typeof list>> {
  const { payload } = await ask("artifacts.list", params);
  // The stated shapes are of a version without pages of images.
  if (!("type" in params)) expectShape("ArtifactsListResult", payload);
  return list.parse(payload);
}

test("the files of a conversation are those that people sent, tools read and answers brought", async () => {
  const { artifacts } = await listed({ sessionKey: KEY });
  expect(artifacts).toMatchObject([
    { ...IMAGE, runId: runs[0], download: { mode: "bytes" } },
    { ...IMAGE, runId: runs[1] },
    { type: "file", title: "tea.txt", mimeType: "text/plain", sizeBytes: 10, runId: runs[2], sessionKey: KEY },
  ]);
  expect(new Set(artifacts.map(({ id }) => id)).size).toBe(3);
  expect((await listed({ runId: runs[2] })).artifacts).toEqual(artifacts.slice(2));
  expect((await listed({ sessionKey: KEY, messageRole: "user" })).artifacts).toEqual(artifacts.slice(0, 1));
  expect((await listed({ sessionKey: "agent:main:nothing" })).artifacts).toEqual([]);
});

test("each is looked up and fetched by its id, until the file is gone", async () => {
  const { artifacts } = await listed({ sessionKey: KEY });
  for (const one of artifacts) {
    const { payload } = await ask("artifacts.get", { sessionKey: KEY, artifactId: one.id });
    expect(payload).toEqual({ artifact: one });
  }
  const [dot, , tea] = artifacts.map(({ id }) => id);
  const fetched = async (artifactId?: string) => ask("artifacts.download", { sessionKey: KEY, artifactId });
  const { payload } = await fetched(tea);
  expectShape("ArtifactsDownloadResult", payload);
  expect(payload).toMatchObject({ encoding: "base64", data: Buffer.from("two spoons").toString("base64") });
  expect(await fetched(dot)).toMatchObject({ payload: { data: PNG } });
  rmSync(join(fixture.dir, "media"), { recursive: true });
  expect((await listed({ sessionKey: KEY })).artifacts.at(-1)).toMatchObject({ download: { mode: "unsupported" } });
  expect(await fetched(tea)).toMatchObject({ error: { details: { type: "artifact_download_unsupported" } } });
  expect(await fetched("nothing")).toMatchObject({
    error: { details: { type: "artifact_not_found", kind: "NOT_FOUND" } },
  });
});

test("images come in pages, the newest first, with their bytes", async () => {
  const url = `data:image/png;base64,${PNG}`;
  const first = await listed({ sessionKey: KEY, type: "image", limit: 1 });
  expect(first).toMatchObject({ artifacts: [{ runId: runs[1], image: { url } }], nextCursor: expect.any(String) });
  const second = await listed({ sessionKey: KEY, type: "image", limit: 1, cursor: first.nextCursor });
  expect(second.artifacts).toMatchObject([{ runId: runs[0], image: { url } }]);
  expect(second.nextCursor).toBeUndefined();
});

test.each([
  [{}, "artifact_query_unsupported"],
  [{ sessionKey: KEY, limit: 2 }, "artifact_query_unsupported"],
  [{ sessionKey: KEY, type: "image", cursor: "nothing" }, "artifact_cursor_invalid"],
  [{ runId: "nothing" }, "artifact_scope_not_found"],
  [{ taskId: "nothing" }, "artifact_scope_not_found"],
])("the query %o is refused with its reason", async (params, type) => {
  expect(await ask("artifacts.list", params)).toMatchObject({ error: { code: "INVALID_REQUEST", details: { type } } });
});
