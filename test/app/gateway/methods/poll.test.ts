import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startFakeDiscord, type FakeDiscord } from "../../../../extensions/discord/test/fake-discord.ts";
import { ADA } from "../../../../extensions/discord/test/fake-world.ts";
import { startGatewayFixture, type GatewayFixture } from "../../../kit/gateway/in-process.ts";
import type { RawClient } from "../../../kit/server/server.ts";
import { until } from "../../../kit/until.ts";

let discord: FakeDiscord;
let fixture: GatewayFixture;
let client: RawClient;
beforeAll(async () => {
  discord = await startFakeDiscord();
  fixture = await startGatewayFixture({}, undefined, {
    discord: { ...discord.config, dmPolicy: "allowlist", allowFrom: [ADA.id] },
  });
  client = await fixture.client();
  await until(isUp, "both channels");
});
afterAll(async () => {
  await fixture.close();
  await discord.close();
});

async function isUp(): Promise<boolean> {
  const { out } = await fixture.cli("channels", "status");
  return ["telegram", "discord"].every((id) => new RegExp(`${id} .*running`).test(out));
}

const polls = () => discord.calls.flatMap(({ body }) => (JSON.stringify(body)?.includes('"poll"') ? [body] : []));

test("a poll is asked once, by its own method or as the command line of OpenClaw asks it", async () => {
  const asked = {
    channel: "discord",
    to: ADA.id,
    question: "Which tea?",
    options: ["green", "black"],
    maxSelections: 2,
    durationSeconds: 5400,
    idempotencyKey: randomUUID(),
  };
  const answer = await client.request("poll", asked);
  expect(answer).toMatchObject({
    ok: true,
    payload: { runId: asked.idempotencyKey, channel: "discord", messageId: expect.any(String), state: "sent" },
  });
  expect((await client.request("poll", asked))["payload"]).toEqual(answer["payload"]);
  const action = await client.request("message.action", {
    channel: "discord",
    action: "poll",
    params: { target: ADA.id, pollQuestion: "Now?", pollOption: ["yes", "no"], pollDurationHours: 3 },
    idempotencyKey: randomUUID(),
  });
  expect(action).toMatchObject({ ok: true, payload: { state: "sent" } });
  expect(polls()).toMatchObject([
    { poll: { question: { text: "Which tea?" }, allow_multiselect: true, duration: 2 } },
    { poll: { question: { text: "Now?" }, allow_multiselect: false, duration: 3 } },
  ]);
});

test.each([
  ["a platform without polls", { channel: "webchat", to: "operator" }, /unsupported poll channel: webchat/],
  ["a channel that is not there", { channel: "nochannel" }, /nochannel/],
  ["one option", { options: ["yes"] }, /options/],
  ["two equal options", { options: ["yes", "yes"] }, /same/],
])("%s is refused", async (_name, more, why) => {
  const params = {
    channel: "discord",
    to: ADA.id,
    question: "?",
    options: ["yes", "no"],
    idempotencyKey: randomUUID(),
  };
  expect(await client.request("poll", { ...params, ...more })).toMatchObject({
    ok: false,
    error: { code: "INVALID_REQUEST", message: expect.stringMatching(why) },
  });
  expect(polls()).toHaveLength(2);
});
