import { afterEach, describe, expect, test } from "vitest";
import { startFakeModel, type FakeModel } from "../fakes/model.ts";
import { isUp, makeHome, walkConfig, type GatewayUnderTest, type Home } from "../kit/gateway/process.ts";
import { inboxOf, outcomesOf } from "../kit/gateway/state-files.ts";
import { hasTwin, Twin } from "./twin.ts";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

interface Scene {
  readonly twin: Twin;
  readonly model: FakeModel;
  readonly home: Home;
}

/** The built gateway will be in the third party's guild, where everybody is heard. */
async function begin(more: Record<string, unknown> = {}): Promise<Scene> {
  const twin = await Twin.start();
  closers.push(() => twin.close());
  const model = await startFakeModel();
  closers.push(() => model.close());
  const { channels: _, ...rest } = walkConfig({ url: "", token: "" }, model, more);
  const guilds = { [twin.guildId]: { requireMention: false } };
  const home = await makeHome({ ...rest, channels: { discord: { ...twin.config, guilds } } });
  closers.push(() => home.remove());
  return { twin, model, home };
}

async function start(home: Home): Promise<GatewayUnderTest> {
  const gateway = await home.start();
  await gateway.logged(isUp("discord"));
  return gateway;
}

describe.skipIf(!hasTwin)("the gateway at the third party's Discord", () => {
  test("answers what is said in a channel and in a thread, each in its place", async () => {
    const { twin, model, home } = await begin();
    await start(home);
    const channel = twin.digital.channel(twin.crew);
    const typed = () => expect.poll(() => channel.getTypingEvents().length).toBeGreaterThan(0);
    model.answer(({ said }) =>
      said.includes("thread") ? { text: "Here." } : { text: "**Aye**, aye.", until: typed() },
    );
    const asked = await twin.say("are you there?");
    await expect.poll(() => twin.shown()).toEqual(["**Aye**, aye."]);
    const topic = await twin.beginThread(asked, "Topic");
    await twin.say("and in the thread?", topic);
    await expect.poll(() => twin.shown(topic)).toEqual(["Here."]);
    expect(await outcomesOf(home, 2)).toMatchObject([{ kind: "replied" }, { kind: "replied" }]);
    const heard = ["are you there?", "and in the thread?"].map((words): unknown => expect.stringContaining(words));
    expect(model.calls.map(({ said }) => said)).toEqual(heard);
  });

  test("answers a command of the menu in its place", async () => {
    const { twin, model, home } = await begin();
    await start(home);
    const menu = () => twin.digital.prisma.applicationCommand.findMany();
    await expect.poll(menu).toContainEqual(expect.objectContaining({ name: "status" }));
    await twin.person().runSlashCommand({ name: "status", options: [] });
    const shown = { webhook_id: twin.botId, content: expect.stringContaining("fake-1") };
    await expect.poll(() => twin.own()).toMatchObject([shown]);
    expect(model.calls).toEqual([]);
  });

  test("answers once what was said while it was killed", async () => {
    const { twin, model, home } = await begin();
    const first = await start(home);
    model.answer(({ said }) => ({ text: said.includes("while") ? "two" : "one" }));
    await twin.say("before");
    await expect.poll(() => twin.shown()).toEqual(["one"]);
    await outcomesOf(home, 1);
    await first.kill("SIGKILL");
    await twin.say("while away");
    await start(home);
    await expect.poll(() => twin.shown()).toEqual(["one", "two"]);
    await outcomesOf(home, 2);
    expect(inboxOf(home).map(({ text }) => text)).toEqual(["before", "while away"]);
    expect(model.calls).toHaveLength(2);
  });

  test("says of a command that nobody allowed before a kill that it was not run, and takes its buttons away", async () => {
    // On the machine itself: in a sandbox nothing is asked.
    const agents = { defaults: { model: { primary: "fake/fake-1" }, sandbox: { mode: "off" } } };
    const { twin, model, home } = await begin({ agents, commands: { ownerAllowFrom: ["discord:2001"] } });
    const first = await start(home);
    model.answer((call) =>
      call.isAfterTool ? { text: `told: ${call.toolText}` } : { tool: "exec", args: { command: "touch made.txt" } },
    );
    await twin.say("make it");
    const question = async () => (await twin.own()).find(({ content }) => content.includes("/approve"));
    await expect.poll(question).toMatchObject({ components: [{ type: 1 }] });
    const { id } = (await question()) ?? {};
    await first.kill("SIGKILL");
    await start(home);
    await expect.poll(() => twin.shown()).toContainEqual(expect.stringContaining("This call was not run"));
    const answered = async () => (await twin.own()).find((message) => message.id === id);
    await expect.poll(answered).toMatchObject({ content: expect.stringContaining("restarted") });
    expect(await answered()).not.toHaveProperty("components");
  });

  test("shows a bold text beside CJK punctuation as bold", async () => {
    const { twin, model, home } = await begin();
    await start(home);
    model.answer(() => ({ text: "**注意：**请" }));
    await twin.say("well?");
    await expect.poll(() => twin.shown()).toEqual([expect.stringMatching(/^\*\*注意：\*\*\S?请$/u)]);
  });
});
