import { afterEach, describe, expect, test } from "vitest";
import { Host, start, stopAll } from "../../../test/contracts/channel.ts";
import type { WebhookAnswer } from "../../../src/types/chat/channel.ts";
import { ADA } from "./fake-slack.ts";
import { slackPlatform } from "./slack-platform.ts";

afterEach(stopAll);

const EVENT = {
  type: "event_callback",
  team_id: "T1",
  event_id: "Ev1",
  event: { type: "message", channel: "D1", channel_type: "im", user: ADA, text: "over HTTP", ts: "1700000001.000100" },
};

async function begin(host = new Host()) {
  const platform = await slackPlatform();
  const { fake } = platform;
  const config = { botToken: fake.botToken, apiUrl: fake.url, signingSecret: fake.signingSecret, mode: "http" };
  const { link } = await start({ ...platform, config }, host);
  const post = async (
    body: string,
    how: { json?: boolean; at?: number; headers?: Record<string, string> } = {},
  ): Promise<WebhookAnswer> => {
    const { headers, body: bytes } = fake.signed(body, how.json ?? true, how.at);
    const answer = host.routes.get("/slack/events");
    if (!answer) throw new Error("nothing is served");
    return answer({ method: "POST", headers: { ...headers, ...how.headers }, query: {}, body: bytes });
  };
  return { fake, host, link, post };
}

describe("the Events API", () => {
  test("answers Slack's question for the address", async () => {
    const { post } = await begin();
    expect(await post(JSON.stringify({ type: "url_verification", challenge: "c1" }))).toMatchObject({
      status: 200,
      body: "c1",
    });
  });

  test("takes an event, and says so when it is stored", async () => {
    const { post, host } = await begin();
    expect(await post(JSON.stringify(EVENT))).toEqual({ status: 200 });
    expect(host.received).toMatchObject([{ text: "over HTTP", from: { chat: { kind: "direct", id: "D1" } } }]);
    expect(await post(JSON.stringify(EVENT))).toEqual({ status: 200 });
    expect(new Set(host.received.map(({ eventKey }) => eventKey)).size).toBe(1);
  });

  test("refuses what is not signed, signed with another secret, or old", async () => {
    const { post, host } = await begin();
    const body = JSON.stringify(EVENT);
    expect(await post(body, { headers: { "x-slack-signature": "v0=00" } })).toMatchObject({ status: 401 });
    expect(await post(body, { headers: { "x-slack-signature": `v0=${"0".repeat(64)}` } })).toMatchObject({
      status: 401,
    });
    expect(await post(body, { at: Date.now() - 6 * 60_000 })).toMatchObject({ status: 401 });
    expect(await post(body, { headers: { "x-slack-request-timestamp": "" } })).toMatchObject({ status: 401 });
    expect(await post("not JSON")).toMatchObject({ status: 400 });
    expect(host.received).toEqual([]);
  });

  test("takes commands and pressed buttons as forms", async () => {
    const { post, host } = await begin();
    const press = {
      type: "block_actions",
      user: { id: ADA },
      channel: { id: "D1" },
      message: { ts: "1700000002.000100" },
      actions: [{ action_id: "openclaw:1", value: "/deny", action_ts: "1700000003.000100" }],
    };
    const form = new URLSearchParams({ payload: JSON.stringify(press) }).toString();
    expect(await post(form, { json: false })).toEqual({ status: 200 });
    expect(host.received).toMatchObject([{ text: "/deny", event: "button" }]);
    const command = new URLSearchParams({ command: "/openclaw", channel_id: "D1", user_id: ADA, trigger_id: "1.1" });
    expect(await post(command.toString(), { json: false })).toEqual({ status: 200 });
    expect(host.received).toHaveLength(1);
  });

  test("says yes when Slack looks at the certificate, signed or not, and does nothing", async () => {
    const { post, host } = await begin();
    await host.until(() => host.reports.length > 0);
    const before = host.reports.length;
    const check = new URLSearchParams({ ssl_check: "1", token: "x", command: "/openclaw", trigger_id: "1" }).toString();
    expect(await post(check, { json: false })).toEqual({ status: 200 });
    const unsigned = { "x-slack-signature": "", "x-slack-request-timestamp": "" };
    expect(await post(check, { json: false, headers: unsigned })).toEqual({ status: 200 });
    const other = check.replace("ssl_check=1", "ssl_check=0");
    expect(await post(other, { json: false, headers: unsigned })).toMatchObject({ status: 401 });
    expect(host.received).toEqual([]);
    expect(host.reports).toHaveLength(before);
  });

  test("stores events and says so, although Slack answers no lookup in time", async () => {
    const { fake, post, host } = await begin();
    const slow = ["users.info", "conversations.info", "conversations.replies", "conversations.history"];
    for (const method of slow) fake.fail(method, "silence", 100);
    const names = Array.from({ length: 9 }, (_, n) => `<@U5${n}> in <#C5${n}>`).join(" ");
    const said = { ...EVENT.event, channel: "C9", channel_type: "channel" };
    const inThread = {
      ...said,
      type: "app_mention",
      text: `<@${fake.self.userId}> ${names}`,
      thread_ts: "1600000000.5",
    };
    const events = [
      { ...said, text: "plain", ts: "1700000002.1" },
      { ...inThread, ts: "1700000003.1" },
      { ...inThread, ts: "1700000004.1", attachments: [{ is_share: true, text: names }] },
    ];
    const first = post(JSON.stringify({ ...EVENT, event: events[0] }));
    // While the first is being read.
    const others = events.slice(1).map((event) => post(JSON.stringify({ ...EVENT, event })));
    expect(await Promise.all([first, ...others])).toEqual(events.map(() => ({ status: 200 })));
    expect(host.received.map(({ id, sender }) => [id, sender])).toEqual(events.map(({ ts }) => [ts, { id: ADA }]));
  });

  test("does not say that an event is stored when the adapter closes before", async () => {
    const host = new Host();
    host.refuse = 1000;
    const { post, link } = await begin(host);
    const answered = post(JSON.stringify(EVENT));
    await host.until(() => host.offered > 0);
    await link.close();
    expect(await answered).toEqual({ status: 503 });
    expect(await post(JSON.stringify(EVENT))).toEqual({ status: 503 });
    expect(host.received).toEqual([]);
  });

  test("reports life without a socket, and a token that was revoked", async () => {
    const { fake, host } = await begin();
    await host.until(() => host.reports.some((report) => report.kind === "alive"));
    expect(fake.sockets).toBe(0);
  });
});
