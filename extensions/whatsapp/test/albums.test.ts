import { afterEach, expect, test } from "vitest";
import { Host, start, stopAll } from "../../../test/contracts/channel.ts";
import { GROUP } from "./fake/fake-whatsapp.ts";
import { albumPart, sayAlbum, whatsappPlatform } from "./platform.ts";

afterEach(stopAll);

/** No album is passed on for its age while these tests run. */
const PATIENT = { mediaGroupFlushMs: 60_000 };

async function begin() {
  const platform = await whatsappPlatform();
  return { ...(await start(platform, new Host(), PATIENT)), platform, fake: platform.fake };
}

const shapes = (host: Host) => host.received.map(({ text, media }) => `${text}: ${media.length}`);

test("pictures that were sent together are one message, with every caption", async () => {
  const { fake, host } = await begin();
  const id = sayAlbum(fake, ["our trip", "", "and the cat", "", ""]);
  fake.say({ conversation: "behind it" });
  await host.heard("behind it");
  expect(shapes(host)).toEqual(["our trip\nand the cat: 5", "behind it: 0"]);
  const [album] = host.received;
  expect(album?.id).not.toBe(id);
  expect(new Set(album?.media.map(({ source }) => JSON.stringify(source))).size).toBe(5);
  await expect.poll(() => fake.queue.length).toBe(0);
});

test("a mention below one of them addresses the bot with all of them", async () => {
  const { fake, host } = await begin();
  const id = fake.say({ albumMessage: { expectedImageCount: 1, expectedVideoCount: 1 } }, { group: GROUP });
  fake.say(albumPart(fake, id, ""), { group: GROUP });
  const named = albumPart(fake, id, "what are these, @900900?");
  Object.assign(named.associatedChildMessage.message.imageMessage, { contextInfo: { mentionedJid: ["900900@lid"] } });
  fake.say(named, { group: GROUP });
  expect(await host.heard("what are these")).toMatchObject({ mentionsBot: true, media: [{}, {}] });
});

test("albums of two people stay apart, and other messages wait for none", async () => {
  const { fake, host } = await begin();
  const ada = fake.say({ albumMessage: { expectedImageCount: 2 } }, { group: GROUP });
  fake.say(albumPart(fake, ada, "of Ada"), { group: GROUP });
  fake.say(albumPart(fake, ada, "of Bob"), { group: GROUP, by: fake.bob });
  fake.say({ conversation: "meanwhile" }, { group: GROUP });
  await host.heard("meanwhile");
  expect(shapes(host)).toEqual(["meanwhile: 0"]);
  fake.say(albumPart(fake, ada, "too"), { group: GROUP });
  await host.heard("of Ada");
  expect(shapes(host)).toEqual(["meanwhile: 0", "of Ada\ntoo: 2"]);
});

test("one that lacks files is receipted, kept over a restart, and passed on after a while; a later file is a message", async () => {
  const { fake, host, link, platform } = await begin();
  const id = fake.say({ albumMessage: { expectedImageCount: 3 } });
  fake.say(albumPart(fake, id, "one"));
  fake.say(albumPart(fake, id, "two"));
  fake.redeliver();
  await fake.settled();
  await expect.poll(() => fake.queue.length).toBe(0);
  expect(host.received).toEqual([]);
  await link.close();

  const next = new Host(host);
  await start(platform, next, { mediaGroupFlushMs: 10 });
  await next.heard("one");
  fake.say(albumPart(fake, id, "three"));
  await next.heard("three");
  expect(shapes(next)).toEqual(["one\ntwo: 2", "three: 1"]);
});

test("one is kept while it cannot be stored", async () => {
  const { fake, host } = await begin();
  host.refuse = 1;
  sayAlbum(fake, ["kept", ""]);
  await host.heard("kept");
  expect(shapes(host)).toEqual(["kept: 2"]);
  expect(host.reports).toContainEqual(expect.objectContaining({ kind: "trouble" }));
});
