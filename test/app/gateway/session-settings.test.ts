import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { type FakeModel, startFakeModel } from "../../fakes/model.ts";
import { startGatewayFixture, type GatewayFixture } from "../../kit/gateway/in-process.ts";
import type { RawClient } from "../../kit/server/server.ts";

let model: FakeModel;
let fixture: GatewayFixture;
const open: RawClient[] = [];
beforeAll(async () => {
  model = await startFakeModel();
  const groups = { "*": {}, "-7": { requireMention: false } };
  fixture = await startGatewayFixture({ enabled: false, groups }, model.url);
});
afterEach(() => {
  for (const client of open.splice(0)) client.close();
});
afterAll(async () => {
  await fixture.close();
  await model.close();
});

async function connect(): Promise<RawClient> {
  const client = await fixture.client();
  open.push(client);
  return client;
}

const described = z.looseObject({
  payload: z.looseObject({
    session: z.looseObject({ key: z.string() }).nullable(),
    settings: z.record(z.string(), z.looseObject({ value: z.unknown(), source: z.string(), default: z.unknown() })),
  }),
});

async function settingsOf(client: RawClient, key: string) {
  const { payload } = described.parse(await client.request("sessions.describe", { key }));
  return payload.settings;
}

const isChangeOf = (key: string) => (frame: Record<string, unknown>) =>
  frame["event"] === "sessions.changed" &&
  JSON.stringify(frame["payload"]).includes(`"sessionKey":"agent:main:${key}"`);

test("a session that nobody has used has the settings of the config", async () => {
  const client = await connect();
  const { payload } = described.parse(await client.request("sessions.describe", { key: "fresh" }));
  expect(payload.session).toBeNull();
  expect(payload.settings).toMatchObject({
    model: { value: "fake/fake-1", source: "default", choices: expect.arrayContaining(["fake/fake-1"]) },
    thinkingLevel: { value: "off", source: "default", choices: expect.arrayContaining(["off", "xhigh"]) },
    verboseLevel: { value: "off", source: "default" },
    reasoningLevel: { value: "off", source: "default" },
    responseUsage: { value: "off", source: "default" },
    queueMode: { value: "collect", source: "default" },
    queueDebounceMs: { source: "default", range: [0, 600_000] },
    queueCap: { value: 20, source: "default", range: [1, 1000] },
    queueDrop: { value: "summarize", source: "default" },
    sendPolicy: { value: "allow", source: "default" },
  });
  expect(payload.settings).not.toHaveProperty("groupActivation");
});

test("what is set for a session is in force, and the config's value is shown beside it until it is removed", async () => {
  const client = await connect();
  await client.request("sessions.patch", { key: "own", verboseLevel: "full", queueCap: 3, responseUsage: "on" });
  expect(await settingsOf(client, "own")).toMatchObject({
    verboseLevel: { value: "full", source: "session", default: "off" },
    queueCap: { value: 3, source: "session", default: 20 },
    responseUsage: { value: "tokens", source: "session" },
    queueMode: { source: "default" },
  });
  await client.request("sessions.patch", { key: "own", verboseLevel: null });
  expect((await settingsOf(client, "own"))["verboseLevel"]).toMatchObject({ value: "off", source: "default" });
});

test("a group has its activation, by its own rule in the config or that of all", async () => {
  const client = await connect();
  const activation = async (group: string) =>
    (await settingsOf(client, `telegram:default:group:${group}`))["groupActivation"];
  expect(await activation("-7")).toMatchObject({ value: "always", source: "default" });
  expect(await activation("-8")).toMatchObject({ value: "mention", source: "default" });
  await client.request("sessions.patch", { key: "telegram:default:group:-8", groupActivation: "always" });
  expect(await activation("-8")).toMatchObject({ value: "always", source: "session", default: "mention" });
});

test("every client learns of a setting that a command changes in a chat", async () => {
  const [one, two] = [await connect(), await connect()];
  await one.request("chat.send", { sessionKey: "told", message: "/queue steer cap:5", idempotencyKey: "told-1" });
  expect(await two.until(isChangeOf("told"))).toMatchObject({ payload: { reason: "patch" } });
  expect(await settingsOf(two, "told")).toMatchObject({
    queueMode: { value: "steer", source: "session" },
    queueCap: { value: 5, source: "session" },
  });
});
