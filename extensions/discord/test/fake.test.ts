import { Client, Events, GatewayIntentBits, Partials } from "discord.js";
import type { Interaction, Message } from "discord.js";
import { afterEach, expect, test } from "vitest";
import { startFakeDiscord } from "./fake-discord.ts";
import type { FakeDiscord } from "./fake-discord.ts";

// Discord's own client must work with the fake, because the fake is written here.
const { Guilds, GuildMessages, MessageContent, DirectMessages, GuildMessageReactions } = GatewayIntentBits;
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function join(): Promise<{ fake: FakeDiscord; client: Client; heard(): Promise<Message> }> {
  const fake = await startFakeDiscord();
  closing.push(() => fake.close());
  const client = new Client({
    intents: [Guilds, GuildMessages, MessageContent, DirectMessages, GuildMessageReactions],
    partials: [Partials.Channel, Partials.Message],
    rest: { api: fake.config.apiUrl, retries: 0 },
  });
  closing.push(() => client.destroy());
  const ready = new Promise((resolve) => client.once(Events.ClientReady, resolve));
  await client.login(fake.token);
  await ready;
  const heard = async () => new Promise<Message>((resolve) => client.once(Events.MessageCreate, resolve));
  return { fake, client, heard };
}

test("discord.js reads a message in a thread, replies with a file, edits, reacts and deletes", async () => {
  const { fake, heard } = await join();
  const coming = heard();
  fake.say("903", "hello <@4200>", { files: [{ name: "a.txt", bytes: new Uint8Array([65]), mime: "text/plain" }] });
  const message = await coming;
  expect(message).toMatchObject({ content: "hello <@4200>", guildId: "900" });
  expect(message.channel.isThread()).toBe(true);
  expect(message.mentions.has("4200")).toBe(true);
  expect(message.attachments.first()?.name).toBe("a.txt");
  const answer = await message.reply({ content: "hi", files: [{ attachment: Buffer.from("B"), name: "b.txt" }] });
  expect(answer.reference?.messageId).toBe(message.id);
  await answer.edit("hi there");
  expect(fake.shown("903")).toEqual(["hi there"]);
  await message.react("👍");
  await answer.delete();
  expect(fake.shown("903")).toEqual([]);
});

test("discord.js resumes after a break, and answers a direct message and a command", async () => {
  const { fake, client, heard } = await join();
  const resumed = new Promise((resolve) => client.once(Events.ShardResume, resolve));
  fake.gateway.drop();
  const coming = heard();
  const direct = fake.world.direct("1001");
  fake.say(direct, "psst");
  const message = await coming;
  await resumed;
  expect(message.guildId).toBe(null);
  await message.reply("what?");
  expect(fake.shown(direct)).toEqual(["what?"]);
  const called = new Promise<Interaction>((resolve) => client.once(Events.InteractionCreate, resolve));
  const data = { id: "1", name: "status", type: 1 };
  fake.gateway.dispatch("INTERACTION_CREATE", fake.world.interaction("901", { type: 2, data }));
  const interaction = await called;
  if (!interaction.isChatInputCommand()) throw new Error("not a command");
  await interaction.deferReply();
  await interaction.editReply(`${interaction.commandName} done`);
  expect(fake.shown("901")).toEqual(["status done"]);
});
