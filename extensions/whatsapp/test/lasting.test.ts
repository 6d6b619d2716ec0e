import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { Host, start, stopAll, text } from "../../../test/contracts/channel.ts";
import { whatsappPlatform } from "./platform.ts";

// What goes on over many messages and many connections.
afterEach(stopAll);

async function begin(host = new Host()) {
  const platform = await whatsappPlatform();
  const { link } = await start(platform, host, {});
  const { fake } = platform;
  const send = (words: string) => link.send(platform.direct, text(words), { idempotencyKey: words });
  const hear = async (words: string) => {
    fake.say({ conversation: words });
    await host.heard(words);
  };
  const reconnect = async () => {
    const { logins } = fake;
    fake.drop();
    await expect.poll(() => fake.logins).toBe(logins + 1);
  };
  return { host, platform, fake, send, hear, reconnect };
}

test("a connection over which messages went is made again soon, however often it breaks", async () => {
  const { host, hear, send, reconnect } = await begin();
  for (const round of [1, 2, 3, 4]) {
    await hear(`question ${round}`);
    await expect.poll(async () => (await send(`answer ${round}`)).kind).toBe("sent");
    await reconnect();
  }
  const pauses = host.reports.flatMap((report) => (report.kind === "trouble" ? [report.retryInMs ?? 0] : []));
  expect(pauses).toHaveLength(4);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(500);
});

test("what waited while nobody was connected is taken before what comes later", async () => {
  const host = new Host();
  const { fake, platform, hear, send } = await begin(host);
  await hear("hello");
  const store = host.receive.bind(host);
  const gate = Promise.withResolvers<void>();
  host.receive = async (messages) => {
    if (messages.some((message) => message.text === "one")) await gate.promise;
    await store(messages);
  };
  fake.drop();
  for (const words of ["one", "two", "three"]) fake.say({ conversation: words });
  await expect.poll(() => fake.logins).toBe(2);
  for (const words of ["four", "five"]) fake.say({ conversation: words });
  await fake.settled();
  // Its answer comes behind them, over the same connection.
  await expect.poll(async () => (await send("a moment")).kind).toBe("sent");
  gate.resolve();
  await host.heard("five");
  await expect.poll(() => host.received.length).toBe(6);
  expect(host.received.map((message) => message.text)).toEqual(["hello", "one", "two", "three", "four", "five"]);
  expect(platform.shown(platform.direct)).toEqual(["a moment"]);
});

test("a session that was only tried with another's message still opens and seals its own", async () => {
  const { fake, platform, hear, send, reconnect } = await begin();
  await hear("one");
  await send("two");
  await hear("three");
  await reconnect();
  // It begins a new session, of which the phone does not hear.
  fake.fail({ kind: "refuse", code: 503 });
  await expect.poll(async () => (await send("four")).kind).toBe("retry");
  await hear("five");
  expect((await send("four")).kind).toBe("sent");
  await hear("six");
  expect(platform.shown(platform.direct)).toEqual(["two", "four"]);
  expect(fake.unopened).toEqual([]);
});

test("the keys of a conversation do not grow with it", async () => {
  const { platform, hear, send } = await begin();
  for (let round = 1; round <= 40; round += 1) {
    await hear(`question ${round}.`);
    await send(`answer ${round}.`);
  }
  expect(mostChains(platform.folder)).toBeLessThanOrEqual(22);
  expect(platform.shown(platform.direct)).toHaveLength(40);
});

function mostChains(folder: string): number {
  const db = new DatabaseSync(path.join(folder, "auth.sqlite"), { readOnly: true });
  try {
    const rows = db.prepare("SELECT value FROM keys WHERE type = 'session'").all();
    const sessions = rows.flatMap(({ value }) => Object.values(JSON.parse(String(value))._sessions));
    return Math.max(...sessions.map((session) => Object.keys((session as { _chains: object })._chains).length));
  } finally {
    db.close();
  }
}
