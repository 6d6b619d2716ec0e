import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { startGatewayFixture, type GatewayFixture } from "../../../kit/gateway/in-process.ts";
import type { RawClient } from "../../../kit/server/server.ts";

let fixture: GatewayFixture;
let client: RawClient;

beforeAll(async () => {
  fixture = await startGatewayFixture({ enabled: false });
  client = await fixture.client();
});
afterAll(async () => {
  await fixture.close();
});

const answered = z.looseObject({
  payload: z.looseObject({}).optional(),
  error: z.looseObject({ message: z.string() }).optional(),
});
const ask = async (method: string, params: object = {}) => answered.parse(await client.request(method, params));
const ownersInFile = (): unknown =>
  z.looseObject({ commands: z.looseObject({}).optional() }).parse(JSON.parse(fixture.config())).commands?.[
    "ownerAllowFrom"
  ];

const ADA = { entry: "telegram:11", channel: "telegram", senderId: "11" };

test("owners are added once, counted at once, and removed", async () => {
  expect(await ask("owners.list")).toMatchObject({ payload: { owners: [], linked: [] } });
  expect(await ask("owners.add", { channel: "telegram", senderId: "11" })).toMatchObject({
    payload: { owners: [ADA] },
  });
  await ask("owners.add", { channel: "telegram", senderId: "11" });
  await Promise.all(["12", "13"].map((senderId) => ask("owners.add", { channel: "whatsapp", senderId })));
  expect(ownersInFile()).toEqual(["telegram:11", "whatsapp:12", "whatsapp:13"]);
  const { payload } = await ask("owners.list");
  expect(payload?.["owners"]).toContainEqual(ADA);
  expect(await ask("channels.pairing.list")).toMatchObject({ payload: { commandOwnerConfigured: true } });
  await ask("owners.remove", { entry: "whatsapp:12" });
  expect(ownersInFile()).toEqual(["telegram:11", "whatsapp:13"]);
  expect(await ask("owners.remove", { entry: "whatsapp:12" })).toMatchObject({
    error: { message: "whatsapp:12 is no owner" },
  });
});

test("an entry without a channel is shown, counts for each channel, and is kept", async () => {
  await fixture.cli("config", "set", "commands.ownerAllowFrom", '["4711"]');
  await ask("secrets.reload");
  expect(await ask("owners.add", { channel: "telegram", senderId: "4711" })).toMatchObject({
    payload: { owners: [{ entry: "4711", senderId: "4711" }] },
  });
  expect(ownersInFile()).toEqual(["4711"]);
});
