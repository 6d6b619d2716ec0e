import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FakeSlack, startFakeSlack } from "../../../extensions/slack/test/fake-slack.ts";
import { until } from "../../kit/until.ts";
import { startGatewayFixture, type GatewayFixture } from "../../kit/gateway/in-process.ts";

let slack: FakeSlack;
let fixture: GatewayFixture;
beforeAll(async () => {
  slack = await startFakeSlack();
  const { botToken, signingSecret, url: apiUrl } = slack;
  const account = { botToken, signingSecret, apiUrl, mode: "http" };
  fixture = await startGatewayFixture({ enabled: false }, undefined, { slack: account });
  const status = () => fixture.cli("channels", "status", "--channel", "slack");
  await until(async () => (await status()).out.includes("running"), "Slack");
});
afterAll(async () => {
  await fixture.close();
  await slack.close();
});

/** docs.slack.dev/reference/events/url_verification, signed as docs.slack.dev/authentication/verifying-requests-from-slack says. */
function post(path: string, secret = slack.signingSecret): Promise<Response> {
  const body = JSON.stringify({ type: "url_verification", challenge: "a-challenge" });
  const stamp = String(Math.floor(Date.now() / 1000));
  const signature = `v0=${createHmac("sha256", secret).update(`v0:${stamp}:${body}`).digest("hex")}`;
  const headers = {
    "content-type": "application/json",
    "x-slack-request-timestamp": stamp,
    "x-slack-signature": signature,
  };
  return fetch(`${fixture.http}${path}`, { method: "POST", body, headers });
}

test("Slack's requests reach its account through the gateway, and a strange one is refused", async () => {
  const answer = await post("/slack/events");
  expect([answer.status, await answer.text()]).toEqual([200, "a-challenge"]);
  expect((await post("/slack/events", "another secret")).status).toBe(401);
  expect((await post("/elsewhere")).status).toBe(404);
  const metrics = await (await fetch(`${fixture.http}/metrics`)).text();
  expect(metrics).toContain('openclaw_channel_webhook_requests_total{path="/slack/events",status="200"} 1');
});

test("an account that is restarted with another path answers there, and soon not at the old one", async () => {
  const config = fixture.config().replace('"mode": "http"', '"mode": "http", "webhookPath": "/hooks/slack"');
  writeFileSync(join(fixture.dir, "openclaw.json"), config);
  await until(async () => (await post("/hooks/slack")).status === 200, "the new path");
  expect((await post("/slack/events")).status).toBe(503);
});
