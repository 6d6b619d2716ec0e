import { afterEach, expect, test, vi } from "vitest";
import { startFakeDiscord } from "../../extensions/discord/test/fake-discord.ts";
import { ADA } from "../../extensions/discord/test/fake-world.ts";
import { startFakeModel } from "../fakes/model.ts";
import { isUp, makeHome, PATIENCE, walkConfig } from "../kit/gateway/process.ts";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const BOB = { id: "1002", username: "bob", global_name: "Bob", discriminator: "0", avatar: null };

/** The built gateway in Discord's fake, where it hears Ada alone. */
async function begin() {
  const fake = await startFakeDiscord();
  closers.push(() => fake.close());
  const model = await startFakeModel();
  closers.push(() => model.close());
  const { channels: _, ...rest } = walkConfig({ url: "", token: "" }, model);
  const access = { dmPolicy: "allowlist", allowFrom: [ADA.id], groupPolicy: "allowlist", groupAllowFrom: [ADA.id] };
  const guilds = { "900": { requireMention: false } };
  const home = await makeHome({ ...rest, channels: { discord: { ...fake.config, ...access, guilds } } });
  closers.push(() => home.remove());
  const gateway = await home.start();
  await gateway.logged(isUp("discord"));
  const direct = fake.world.direct(ADA.id);
  const command = (channel: string, name: string, more: Record<string, unknown> = {}) => {
    const interaction = fake.world.interaction(channel, { type: 2, data: { id: "1", name, type: 1 }, ...more });
    fake.gateway.dispatch("INTERACTION_CREATE", interaction);
    return String(interaction["id"]);
  };
  return { fake, model, home, gateway, direct, command };
}

test("a private answer stays in the private chat, although its reader gives a command elsewhere", async () => {
  const { fake, model, home, direct, command } = await begin();
  const working = Promise.withResolvers<void>();
  model.answer(() => ({ text: "SECRET-ANSWER", until: working.promise }));
  fake.say(direct, "secret question");
  await vi.waitFor(() => expect(model.calls).toHaveLength(1), PATIENCE);
  const elsewhere = {
    channel_id: "999",
    channel: { id: "999", type: 3 },
    context: 2,
    guild_id: undefined,
    member: undefined,
  };
  command(direct, "status", { ...elsewhere, user: ADA, authorizing_integration_owners: { 1: ADA.id } });
  await vi.waitFor(() => expect(fake.world.whispers).toHaveLength(1), PATIENCE);
  working.resolve();
  await vi.waitFor(() => expect(fake.shown(direct)).toEqual(["SECRET-ANSWER"]), PATIENCE);
  const sent = await home.run(["message", "send", "--channel", "discord", "--to", ADA.id, "--message", "a reminder"]);
  expect(sent.stderr).toBe("");
  expect(sent.code).toBe(0);
  expect(fake.shown(direct)).toEqual(["SECRET-ANSWER", "a reminder"]);
  const said = fake.calls.filter(({ body }) => JSON.stringify(body).includes("SECRET"));
  expect(said.map(({ path }) => path)).toEqual([`/channels/${direct}/messages`]);
  expect(fake.calls.filter(({ path }) => path.startsWith("/channels/999/"))).toEqual([]);
});

test("in a server, commands and a question at the same time get their own answers", async () => {
  const { fake, model, command } = await begin();
  const working = Promise.withResolvers<void>();
  model.answer(({ said }) =>
    said.includes("question") ? { text: "the answer", until: working.promise } : { text: "sunny" },
  );
  fake.say("901", "a question");
  await vi.waitFor(() => expect(model.calls).toHaveLength(1), PATIENCE);
  const weather = command("901", "weather");
  await vi.waitFor(() => expect(fake.world.below(weather)).toBe("…"), PATIENCE);
  const asked = command("901", "whoami");
  await vi.waitFor(() => expect(fake.world.below(asked)).toContain(ADA.id), PATIENCE);
  working.resolve();
  await vi.waitFor(() => expect(fake.world.below(weather)).toBe("sunny"), PATIENCE);
  expect(fake.world.below(asked)).toContain(ADA.id);
  expect(fake.shown("901")).toHaveLength(3);
  expect(fake.calls.filter(({ path }) => path === "/channels/901/messages")).toMatchObject([
    { body: { content: "the answer" } },
  ]);
});

test("a command of somebody who is not let in gets a private reason, and others see nothing of it", async () => {
  const { fake, command } = await begin();
  command("901", "status", { member: { roles: [], user: BOB } });
  await vi.waitFor(() => expect(fake.world.whispers).toEqual(["I take no commands from you here."]), PATIENCE);
  expect(fake.world.callbacks).toMatchObject([{ type: 4, data: { flags: 64 } }]);
  expect(fake.shown("901")).toEqual([]);
});

test("a channel of which Discord says nothing holds up no other, and the account is in no trouble", async () => {
  const { fake, model, home, direct, command } = await begin();
  model.answer(({ said }) => ({ text: `re: ${/\b(?:one|two|three)\b/.exec(said)?.[0] ?? ""}` }));
  fake.world.addChannel({ id: "990", type: 0, guild_id: "900", name: "new", last_message_id: null });
  fake.fail("500", { count: 10_000, fits: /^GET \/channels\/990$/ });
  fake.say("990", "one");
  fake.say(direct, "two");
  fake.say("901", "three");
  const asked = command("901", "whoami");
  await vi.waitFor(() => expect(fake.shown(direct)).toEqual(["re: two"]), PATIENCE);
  await vi.waitFor(() => expect(fake.shown("901")).toContain("re: three"), PATIENCE);
  await vi.waitFor(() => expect(fake.world.below(asked)).toContain(ADA.id), PATIENCE);
  expect(fake.shown("990")).toEqual([]);
  const status = await home.run(["channels", "status"]);
  expect(status.stdout).toContain("discord");
  expect(status.stdout).not.toContain("trouble");
  fake.heal();
  await vi.waitFor(() => expect(fake.shown("990")).toEqual(["re: one"]), PATIENCE);
});

test("events of odd shapes keep no message from being answered, and the gateway starts again over what they left", async () => {
  const { fake, model, home, direct } = await begin();
  const gateway = home.latest!;
  model.answer(({ said }) => ({ text: `answer to ${/K\w+$/.exec(said)?.[0]}` }));
  const dispatch = (text: string, author: unknown, more: Record<string, unknown> = {}) => {
    const id = fake.say(direct, text, { from: ADA, unheard: true });
    const told = fake.world.told(fake.world.messages(direct).find((message) => message["id"] === id)!);
    fake.gateway.dispatch("MESSAGE_CREATE", { ...told, author: { ...ADA, id: author }, ...more });
  };
  dispatch("Knumber", Number(ADA.id));
  dispatch("Kobject", { id: ADA.id });
  dispatch("Khuge", 1e308);
  dispatch("Klist", [ADA.id], { content: ["Klist"] });
  dispatch("Kname", ADA.id, { attachments: [{ id: "5", filename: null, url: "http://127.0.0.1:1/x", size: 1 }] });
  fake.say(direct, "Kplain");
  await vi.waitFor(() => expect(fake.shown(direct).join()).toContain("answer to Kplain"), PATIENCE);
  expect(fake.shown(direct).join()).toContain("answer to Knumber");
  const told = await gateway.logged("a message of a wrong shape");
  expect(told).toMatchObject({ channel: "discord", level: "warn" });
  await gateway.kill("SIGKILL");
  await home.start();
  fake.say(direct, "Kafter");
  await vi.waitFor(() => expect(fake.shown(direct).join()).toContain("answer to Kafter"), PATIENCE);
  const list = await home.run(["inbox", "list", "--all", "--json"]);
  expect(list.code).toBe(0);
  const { rows } = JSON.parse(list.stdout) as { rows: { id: number; outcome?: { kind: string; why?: string } }[] };
  const odd = rows.filter(({ outcome }) => outcome?.why?.startsWith("unreadable: ") === true);
  expect(odd.length).toBeGreaterThan(0);
  expect(rows.every(({ outcome }) => outcome !== undefined)).toBe(true);
  const doctor = await home.run(["doctor"]);
  expect(doctor.stdout).toContain(`${odd.length} of the last week had a wrong shape`);
  const retried = await home.run(["inbox", "retry", String(odd[0]!.id)]);
  expect(retried).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("in a shape that this version cannot read"),
  });
});
