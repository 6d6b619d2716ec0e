import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startFakeWhatsapp, type FakeWhatsApp } from "../../../../extensions/whatsapp/test/fake/fake-whatsapp.ts";
import { startFakeModel, type FakeModel } from "../../../fakes/model.ts";
import { CERTIFICATE, FakeBrowser, FakePushService } from "../../../fakes/push-service.ts";
import { startGatewayFixture, TOKEN, type GatewayFixture } from "../../../kit/gateway/in-process.ts";
import { writePlugin } from "../../../kit/gateway/plugins.ts";
import { merge } from "../../../kit/gateway/world.ts";
import { Device } from "../../../kit/server/device.ts";
import type { RawClient } from "../../../kit/server/server.ts";
import { misfits, strictShape } from "../../../kit/strict-shape.ts";
import { until } from "../../../kit/until.ts";
import { replyTo } from "../../../peers/real-gateway/gateways.ts";
import { fill, nameOf } from "../../../peers/real-gateway/row.ts";
import { answerShape, shapeOf } from "../../../server/shapes.ts";
import { requestsFor, type Request } from "./method-rows.ts";

type Frame = Readonly<Record<string, unknown>>;

let model: FakeModel;
let whatsapp: FakeWhatsApp;
let fixture: GatewayFixture;
let client: RawClient;
/** The answers to each request; a refusal has none. */
const answers: { readonly row: Request; readonly payload: unknown }[] = [];
const refusals: { readonly row: Request; readonly error: Refusal }[] = [];
interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly details?: { readonly kind?: string };
}

/** None where there is no openssl. */
let service: FakePushService | undefined;
const authorities = getCACertificates("default");

const VOICE = { baseUrl: "http://127.0.0.1:1/v1", apiKey: "x", model: "m", voice: "v" };
const CONFIG = {
  gateway: { push: { allowPrivateNetwork: true } },
  tools: { exec: { security: "full", ask: "always" } },
  messages: { tts: { providers: { "tea-voice": VOICE } } },
  plugins: { entries: { "tea-timer": { enabled: true, hooks: { allowConversationAccess: true } } } },
};

const TEA_TIMER = `export default { register(api) {
  api.session.controls.registerSessionAction({ id: "count", handler: ({ payload }) => ({ counted: payload }) });
  api.registerGatewayMethod("tea-timer.left", ({ respond }) => respond(true, { minutes: 3 }));
  api.on("before_tool_call", ({ toolName }) =>
    toolName === "read" ? { requireApproval: { title: "May I?", description: "a call" } } : undefined);
} };`;

/** A registry of skills that finds one. */
const registry = createServer((_request, response) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.end('{"results":[{"slug":"tea","displayName":"Tea","ownerHandle":"ann"}]}');
});

beforeAll(async () => {
  await once(registry.listen(0, "127.0.0.1"), "listening");
  const { port } = registry.address() as AddressInfo;
  vi.stubEnv("OPENCLAW_CLAWHUB_URL", `http://127.0.0.1:${port}`);
  if (CERTIFICATE) service = await FakePushService.start();
  setDefaultCACertificates([...authorities, ...(CERTIFICATE ? [CERTIFICATE.cert] : [])]);
  model = await startFakeModel();
  // No answer ends by itself while the next requests come.
  model.answer((call) => (call.said.includes("SLOW") ? "hang" : replyTo(call)));
  whatsapp = await startFakeWhatsapp();
  fixture = await startGatewayFixture({}, model.url, { whatsapp: { waWebSocketUrl: whatsapp.url } });
  const extensions = join(fixture.dir, "extensions");
  const manifest = { name: "Tea timer", contracts: { tools: ["tea"] } };
  writePlugin(extensions, { id: "tea-timer", code: TEA_TIMER, manifest });
  writePlugin(extensions, { id: "tea-pot", code: "export default { register() { throw new Error('it leaks') } };" });
  const config = JSON.parse(fixture.config()) as Record<string, unknown>;
  writeFileSync(join(fixture.dir, "openclaw.json"), JSON.stringify(merge(config, CONFIG), null, 2));
  await fixture.restart();
  client = await fixture.client({ scopes: ["operator.admin", "operator.approvals", "operator.pairing"] });
  leaveOpenClaw(fixture.home);
  await pairTwo();
  await play(requestsFor(fixture.telegram, fixture.dir, service && new FakeBrowser(service)));
}, 180_000);
afterAll(async () => {
  vi.unstubAllEnvs();
  registry.close();
  registry.closeAllConnections();
  client.close();
  await fixture.close();
  await whatsapp.close();
  await model.close();
  await service?.close();
  setDefaultCACertificates(authorities);
});

/** What OpenClaw has left: a conversation without a word. */
function leaveOpenClaw(home: string): void {
  const dir = join(home, ".openclaw", "agents", "main", "sessions");
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "sessions.json"), '{ "agent:main:old": { "sessionId": "s1", "updatedAt": 1000 } }');
  const header = { type: "session", version: 3, id: "s1", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/x" };
  writeFileSync(join(dir, "s1.jsonl"), `${JSON.stringify(header)}\n`);
}

/** Two devices, which then want more than they have. */
async function pairTwo(): Promise<void> {
  for (const device of [1, 2].map(() => new Device(() => fixture.http.replace("http", "ws")))) {
    const { client: first, token } = await device.connect({ token: TOKEN });
    first.close();
    const { client: second } = await device.connect({ deviceToken: token }, ["operator.write"]);
    await second.closed;
  }
}

async function play(rows: readonly Request[]): Promise<void> {
  const known = new Map<string, unknown>();
  for (const row of rows) {
    row.before?.();
    const params = fill(row.params ?? {}, known);
    const frame = await answerTo(row, params);
    if (frame["ok"] !== true) refusals.push({ row, error: frame["error"] as Refusal });
    if (frame["ok"] !== true) continue;
    known.set(nameOf(row), frame["payload"]);
    answers.push({ row, payload: frame["payload"] });
    if (row.until === "run") await endOf(row.method, frame["payload"], params);
    if (row.until === "second answer") await secondAnswer(row, frame["id"]);
  }
}

async function answerTo({ has, ...row }: Request, params: unknown): Promise<Frame> {
  let frame = await client.request(row.method, params);
  if (has)
    await until(async () => {
      frame = await client.request(row.method, params);
      return has(frame["payload"]);
    }, nameOf(row));
  return frame;
}

async function endOf(method: string, payload: unknown, params: unknown): Promise<void> {
  if (method === "cron.run") {
    await client.until(({ event, payload: of }) => event === "cron" && Object(of).action === "finished");
    return;
  }
  const runId: unknown = Object(payload).runId ?? Object(params).idempotencyKey;
  await client.request("agent.wait", { runId, timeoutMs: 60_000 });
}

async function secondAnswer(row: Request, id: unknown): Promise<void> {
  const both = () => client.frames.filter((frame) => frame["type"] === "res" && frame["id"] === id);
  await until(() => both().length > 1, `the second answer to ${nameOf(row)}`);
  for (const frame of both().slice(1)) if (frame["ok"] === true) answers.push({ row, payload: frame["payload"] });
}

test("each method of the table has a request that is answered", async () => {
  const names = (await fixture.methods()).map(({ name }) => name);
  expect(names.length).toBeGreaterThan(150);
  const answered = new Set(answers.map(({ row }) => row.method));
  const isMissing = (name: string) => !answered.has(name) && (service !== undefined || !name.startsWith("push.web."));
  expect(names.filter(isMissing)).toEqual([]);
});

const NOTHING: readonly Request[] = [
  ...["sessions.rewind", "sessions.fork"].map((method) => ({
    method,
    params: { sessionKey: "nothing", entryId: "e" },
  })),
  { method: "sessions.create", params: { key: "below", fork: true, parentSessionKey: "nothing" } },
  { method: "sessions.create", about: "with an agent", params: { agentId: "nobody" } },
  { method: "sessions.create", about: "with a model", params: { model: "nobody/nothing" } },
  { method: "sessions.patch", params: { key: "nothing", model: "nobody/nothing" } },
  { method: "sessions.import", params: { key: "agent:nobody:x", sessionId: "3f2b1c1e-6f0a-4c1e-9d5c-0a1b2c3d4e5f" } },
  { method: "sessions.resolve", params: { label: "nothing" } },
  { method: "sessions.send", params: { key: "agent:main:nothing", message: "hi" } },
  { method: "chat.send", params: { sessionKey: "agent:nobody:x", message: "hi", idempotencyKey: "k1" } },
  { method: "agent", params: { agentId: "nobody", message: "hi", idempotencyKey: "k2" } },
  { method: "question.resolve", params: { id: "nothing", cancel: true } },
  { method: "approval.resolve", params: { id: "nothing", kind: "exec", decision: "deny" } },
  { method: "exec.approval.resolve", params: { id: "nothing", decision: "deny" } },
  { method: "agents.delete", params: { agentId: "nobody" } },
  { method: "agents.files.list", params: { agentId: "nobody" } },
  { method: "config.schema.lookup", params: { path: "no.such.key" } },
  { method: "channels.pairing.list", params: { channel: "carrier-pigeon" } },
  { method: "wizard.next", params: { sessionId: "nothing" } },
  { method: "tts.setPersona", params: { persona: "nobody" } },
  { method: "cron.get", params: { id: "nothing" } },
  { method: "runs.get", params: { runId: "nothing" } },
  { method: "memory.note", params: { path: "memory/nothing.md" } },
  { method: "memory.forget", params: { path: "memory/nothing.md", line: 1, text: "" } },
  { method: "wake", params: { text: "hi", mode: "next-heartbeat", agentId: "nobody" } },
];

test("a refusal says in `details.kind` that something is not there, or has changed", async () => {
  const asked = await Promise.all(
    NOTHING.map(async (row) => ({
      row,
      error: (await client.request(row.method, row.params ?? {}))["error"] as Refusal,
    })),
  );
  expect(asked.filter(({ error }) => error === undefined).map(({ row }) => nameOf(row))).toEqual([]);
  const kindOf = ({ message }: Refusal): string | undefined => {
    if (/there is no|unknown|not found|no longer exists|nothing of|no such/i.test(message)) return "NOT_FOUND";
    return /already in use|has changed|changed since|there is .* already|is taken/i.test(message)
      ? "CONFLICT"
      : undefined;
  };
  const isWrong = ({ error }: { error: Refusal }) =>
    !error.message.startsWith("unknown method") && kindOf(error) !== undefined && error.details?.kind !== kindOf(error);
  const wrong = [...refusals, ...asked].filter(isWrong);
  expect(wrong.map(({ row, error }) => `${nameOf(row)}: ${JSON.stringify(error)}`)).toEqual([]);
  expect(asked.filter(({ error }) => error.details?.kind !== "NOT_FOUND").map(({ row }) => nameOf(row))).toEqual([]);
});

test("each answer has the shape that its method states, and no key beside it", async () => {
  const shapes = new Map((await fixture.methods()).map(({ name, result }) => [name, result]));
  const found = answers.flatMap(({ row, payload }) => {
    const shape = shapes.get(row.method);
    return shape === undefined
      ? []
      : [...misfits(shape, payload), ...misfits(strictShape(shape), payload)].map((line) => `${nameOf(row)}: ${line}`);
  });
  expect([...new Set(found)]).toEqual([]);
});

/** Where an answer differs from the protocol's shape, and why. */
const DIFFERENCES: Readonly<Record<string, string>> = {
  "agents.files.get: file": "the stated shape is older than the hash of a file, which 2026.9.6 has",
  "agents.files.set: file": "the stated shape is older than the hash of a file, which 2026.9.6 has",
  "artifacts.list: artifacts.[]": "the stated shape is of a version in which images came without their bytes",
  "skills.search: results.[]":
    "the stated shape is older than the registry and the publisher of a result, which 2026.9.6 has",
  "logs.tail: file": "the gateway of this test writes no log, so that there is no file",
};

test("each answer has the shape of the protocol, where the protocol states one", () => {
  const found = answers.flatMap(({ row, payload }) => {
    const name = answerShape(row.method);
    return name === undefined ? [] : misfits(shapeOf(name), payload).map((line) => `${row.method}: ${line}`);
  });
  const isNew = (line: string) => !Object.keys(DIFFERENCES).some((known) => line.startsWith(`${known}: `));
  expect([...new Set(found)].filter(isNew)).toEqual([]);
  const isGone = (known: string) => !found.some((line) => line.startsWith(`${known}: `));
  expect(Object.keys(DIFFERENCES).filter(isGone)).toEqual([]);
});
