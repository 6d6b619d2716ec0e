import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { DEVICE, startFakeWhatsapp, type FakeWhatsApp } from "../../../extensions/whatsapp/test/fake/fake-whatsapp.ts";
import { until } from "../../kit/until.ts";
import type { RawClient } from "../../kit/server/server.ts";
import { startGatewayFixture, type GatewayFixture } from "../../kit/gateway/in-process.ts";

let fake: FakeWhatsApp;
let fixture: GatewayFixture;
let client: RawClient;
beforeAll(async () => {
  fake = await startFakeWhatsapp();
  fixture = await startGatewayFixture({ enabled: false }, undefined, { whatsapp: { waWebSocketUrl: fake.url } });
  client = await fixture.client();
});
afterAll(async () => {
  await fixture.close();
  await fake.close();
});

const answer = z.looseObject({
  payload: z.looseObject({
    loginId: z.string(),
    state: z.string(),
    next: z.number(),
    steps: z.array(
      z.looseObject({ kind: z.string(), text: z.string().optional(), rows: z.array(z.string()).optional() }),
    ),
  }),
});
const ask = async (method: string, params: object) => answer.parse(await client.request(method, params)).payload;

test("an account is linked through the gateway by a code that is scanned, comes up, sends, and is forgotten", async () => {
  const isDead = async () => /whatsapp +default +dead/.test((await fixture.cli("channels", "status")).out);
  await until(isDead, "an account without keys");
  let now = await ask("channels.login.start", { channel: "whatsapp" });
  const { loginId } = now;
  const kinds: string[] = [];
  while (now.state === "waiting") {
    now = await ask("channels.login.wait", { loginId, next: now.next });
    for (const { kind, text = "", rows } of now.steps) {
      kinds.push(kind);
      if (kind !== "qr") continue;
      expect(rows?.length).toBe(rows?.[0]?.length);
      fake.pairing.scan(text, DEVICE);
    }
  }
  expect(now).toMatchObject({ state: "linked", self: { id: "+4915550001" } });
  expect(kinds[0]).toBe("qr");
  await until(
    async () => (await fixture.cli("channels", "status", "--channel", "whatsapp")).out.includes("running"),
    "the account",
  );
  const capabilities = await fixture.cli("channels", "capabilities", "--channel", "whatsapp");
  expect(capabilities.out).toMatch(/whatsapp +default +whatsapp .* yes +.*react/);

  const sent = await fixture.cli("channels", "test", "--channel", "whatsapp", "--to", "+4915559999");
  expect([sent.code, sent.err]).toEqual([0, ""]);
  expect(sent.out).toMatch(/^Sent to whatsapp chat \+4915559999/);
  const to = ["--channel", "whatsapp", "--to", "+4915559999"];
  const loud = await fixture.cli("message", "send", ...to, "-m", "hush", "--silent");
  expect(loud.out).toMatch(/\. With a sound: whatsapp has no silent messages\.\n$/);

  expect((await fixture.cli("channels", "logout", "whatsapp")).out).toBe("Forgot whatsapp (default).\n");
  await until(isDead, "the end");
});
