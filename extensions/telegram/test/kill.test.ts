import { expect, test } from "vitest";
import { ADA, useFaultFixture } from "../../../test/faults/fixture.ts";

const fixture = useFaultFixture();

const photo = (id: string, caption?: string) => ({
  more: {
    text: undefined,
    media_group_id: "77",
    photo: [{ file_id: id, file_unique_id: id, width: 1, height: 1, file_size: 70 }],
    ...(caption !== undefined && { caption }),
  },
});
const DOT = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "base64",
);

function channels(more: Record<string, unknown>): Record<string, unknown> {
  const { telegram } = fixture();
  const base = { enabled: true, botToken: telegram.token, apiRoot: telegram.url, dmPolicy: "open", allowFrom: ["*"] };
  return { channels: { telegram: { ...base, ...more } } };
}

const trip = (): readonly string[] =>
  fixture()
    .telegram.shown(ADA)
    .filter((text) => text.includes("the trip"));

/** Moments after what is said next; a test asks for one before it says something. */
const offered = async () => fixture().moment(({ method }) => method === "getUpdates");
const acknowledged = async () => {
  await offered();
  await fixture().acknowledged();
};

test.each([
  ["when its parts were offered", 60_000, offered],
  ["while its parts wait, acknowledged", 60_000, acknowledged],
  ["when the model was asked", 50, async () => fixture().model.called(1)],
])("an album is answered once, with all of it: killed %s", async (_when, mediaGroupFlushMs, moment) => {
  const { telegram, model } = fixture();
  for (const id of ["p1", "p2"]) telegram.file(id, DOT);
  model.answer(() => "hang");
  await fixture().config(channels({ mediaGroupFlushMs }));
  const first = await fixture().start();
  const reached = moment();
  telegram.say("", photo("p1", "the trip"));
  telegram.say("", photo("p2"));
  await reached;
  await first.kill("SIGKILL");
  await fixture().config(channels({ mediaGroupFlushMs: 200 }));
  model.answer((call) => ({ text: `echo: ${call.said.includes("the trip") ? "the trip" : call.said}` }));
  await fixture().start();
  await telegram.waitFor((call) => call.ok && call.text.includes("echo: the trip"));
  await fixture().goesOn();
  expect(trip()).toHaveLength(1);
  const said = model.calls.findLast((call) => call.said.includes("the trip"))?.said ?? "";
  expect(said.match(/media:|\.png|image\/png/g)?.length ?? 0, said).toBeGreaterThanOrEqual(2);
});

const [BEGINNING, END] = [`the trip, part 1: ${"k".repeat(4078)}`, "part 2"];

/** Says a part of a text that the app split. All parts have the same time, as parts that an app sends at once. */
function sayPart(text: string): void {
  fixture().telegram.say(text, { more: { date: SAID_AT } });
}
const SAID_AT = 1_800_000_000;

test.each([
  ["when its first part was offered", [BEGINNING], offered],
  ["while its first part waits, acknowledged", [BEGINNING], acknowledged],
  ["when its last part was offered", [BEGINNING, END], offered],
  ["when its parts were acknowledged", [BEGINNING, END], acknowledged],
  ["when the model was asked", [BEGINNING, END], async () => fixture().model.called(1)],
])("a text that the app split is answered once, with all of it: killed %s", async (_when, before, moment) => {
  const { telegram, model } = fixture();
  expect(BEGINNING).toHaveLength(4096);
  model.answer(() => "hang");
  await fixture().config(channels({}));
  const first = await fixture().start();
  const reached = moment();
  for (const text of before) sayPart(text);
  await reached;
  await first.kill("SIGKILL");
  if (!before.includes(END)) sayPart(END);
  const partsIn = (said: string) => ["part 1", "part 2"].filter((part) => said.includes(part)).join(", ");
  model.answer((call) => ({ text: `the trip: ${partsIn(call.said)}` }));
  await fixture().start();
  await telegram.waitFor((call) => call.ok && call.text.includes("part 2"));
  await fixture().goesOn();
  expect(trip()).toEqual([expect.stringMatching(/the trip: part 1, part 2$/)]);
});

test("over a webhook: an acknowledged update is not lost, and a repeated one is answered once", async () => {
  const { telegram, model } = fixture();
  const webhook = { webhookUrl: "https://bot.example/telegram-webhook", webhookSecret: "hook-secret" };
  await fixture().config(channels(webhook));
  model.answer(() => "hang");
  const post = (port: number) => async (body: string, headers: Record<string, string>) =>
    (await fetch(`http://127.0.0.1:${port}/telegram-webhook`, { method: "POST", headers, body })).status;
  const isKnown = async (port: number): Promise<void> =>
    expect.poll(async () => post(port)("{}", { "x-telegram-bot-api-secret-token": "hook-secret" })).toBe(400);
  const first = await fixture().start();
  await isKnown(first.port);
  await expect.poll(() => telegram.webhook).toBeDefined();
  telegram.say("the trip begins");
  const bodies: [string, Record<string, string>][] = [];
  await telegram.deliver(async (body, headers) => {
    bodies.push([body, headers]);
    return post(first.port)(body, headers);
  });
  expect(telegram.pending).toEqual([]);
  await first.kill("SIGKILL");
  model.answer((call) => ({ text: `echo: ${call.said}` }));
  const second = await fixture().start();
  await telegram.waitFor((call) => call.ok && call.text.includes("the trip begins"));
  // Telegram did not get the acknowledgement of the first one.
  for (const [body, headers] of bodies) await expect.poll(async () => post(second.port)(body, headers)).toBe(200);
  telegram.say("and now?");
  await telegram.deliver(post(second.port));
  await telegram.waitFor((call) => call.ok && call.text.includes("and now?"));
  expect(trip()).toHaveLength(1);
});
