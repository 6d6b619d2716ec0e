import { afterEach, expect, test } from "vitest";
import { Host, start, stopAll, text } from "../../../test/contracts/channel.ts";
import { mediaId } from "../../../src/types/ids.ts";
import { GROUP } from "./fake/fake-whatsapp.ts";
import { whatsappPlatform } from "./platform.ts";

afterEach(stopAll);

async function begin(mode: "pn" | "lid", host = new Host()) {
  const platform = await whatsappPlatform();
  platform.fake.directory.addressing = mode;
  const { link } = await start(platform, host);
  let sends = 0;
  const say = async (body: string, group = platform.group!) => {
    const part = { ...text(body), format: "whatsapp" as const };
    return link.send(group, part, { idempotencyKey: `${sends++}` });
  };
  return { platform, fake: platform.fake, host, link, say };
}
type Fake = Awaited<ReturnType<typeof begin>>["fake"];

/** The last message, and whom its readers see marked in it. */
function last(fake: Fake) {
  const { text: body = "", content } = fake.shown.at(-1) ?? {};
  const context = (content?.extendedTextMessage ?? content?.documentMessage)?.contextInfo;
  return { body, marked: fake.directory.marked(body, context?.mentionedJid ?? []) };
}

test.for([
  ["pn", "ask @4917067890"],
  ["lid", "ask @222222"],
] as const)("a group that calls people by %s gets them named so, whatever was written", async ([mode, expected]) => {
  const { fake, say } = await begin(mode);
  for (const name of ["@+4917067890", "@4917067890", "@222222"]) {
    await say(`ask ${name}`);
    expect(last(fake)).toEqual({ body: expected, marked: ["Bob"] });
  }
});

test("several are named, and who is not in the group stays as written, as do an address and a price", async () => {
  const { fake, say } = await begin("lid");
  await say("@+4917067890 and @+4917012345, not @+4917099999, mail@222222.example or 4917067890");
  expect(last(fake)).toEqual({
    body: "@222222 and @111111, not @+4917099999, mail@222222.example or 4917067890",
    marked: ["Ada", "Bob"],
  });
  await say("only @+4917099999");
  expect(last(fake)).toEqual({ body: "only @+4917099999", marked: [] });
  expect(fake.shown.at(-1)?.content.extendedTextMessage?.contextInfo?.mentionedJid ?? []).toEqual([]);
});

test("a number that the group hides is known from its owner's messages", async () => {
  const { fake, host, say } = await begin("lid");
  fake.directory.hidesNumbers = true;
  fake.say({ conversation: "who am I" }, { addressing: "lid", group: GROUP, by: fake.bob });
  expect((await host.heard("who am I")).sender.id).toBe("+4917067890");
  await say("you are @+4917067890");
  expect(last(fake)).toEqual({ body: "you are @222222", marked: ["Bob"] });
});

test("an edit and a caption name people as well; a direct chat names nobody", async () => {
  const host = new Host();
  const { fake, link, platform, say } = await begin("lid", host);
  const sent = await say("wait");
  if (sent.kind !== "sent") throw new Error("not sent");
  const named = { ...text("ask @+4917067890"), format: "whatsapp" as const };
  await link.edit?.(platform.group!, sent.messageId, named);
  expect(last(fake).body).toBe("ask @222222");
  host.media.set("m1", new Uint8Array([1, 2, 3]));
  const media = { kind: "document", mime: "text/plain", source: { at: "store", id: mediaId("m1") } } as const;
  await link.send(platform.group!, { kind: "media", media, caption: named }, { idempotencyKey: "file" });
  expect(last(fake)).toEqual({ body: "ask @222222", marked: ["Bob"] });
  await say("ask @+4917067890", platform.direct);
  expect(last(fake)).toEqual({ body: "ask @+4917067890", marked: [] });
});
