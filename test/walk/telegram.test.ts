import { describe } from "vitest";
import { startFakeTelegram } from "../fakes/telegram.ts";
import { outcomesOf } from "../kit/gateway/state-files.ts";
import { sharedTest } from "../kit/gateway/shared.ts";
import { test } from "../kit/gateway/world.ts";

const inOneGateway = sharedTest({ places: 3 });

/** Older messages than some hours are told of and not answered. */
const seconds = () => Math.floor(Date.now() / 1000);

describe.concurrent("Telegram", () => {
  inOneGateway("sends an update again: it is answered once", async ({ world, expect }) => {
    const { home, gateway } = world.start();
    const message = {
      message_id: 900,
      date: seconds(),
      text: "only once",
      from: { id: 1001, is_bot: false, first_name: "Ada" },
      chat: { id: 1001, type: "private", first_name: "Ada" },
    };
    world.telegram.inject({ message, update_id: 5 });
    await world.told("only once");
    world.telegram.inject({ message, update_id: 5 });
    await gateway.logged((line) => line["why"] === "seen before");
    await outcomesOf(home, 1);
    expect(world.telegram.shown(1001)).toHaveLength(1);
  });

  test("a message whose gateway was killed is answered once after the next start", async ({ world, expect }) => {
    world.script([[/important/, () => "hang"]]);
    const { home, gateway } = await world.start();
    world.telegram.say("important");
    await world.model.called(1);
    await gateway.kill("SIGKILL");
    world.script([[/important/, () => ({ text: "done after the kill" })]]);
    await home.start();
    await world.told("done after the kill");
    expect(await outcomesOf(home, 1)).toMatchObject([{ kind: "replied" }]);
    expect(world.telegram.shown(1001)).toEqual(["done after the kill"]);
  });

  inOneGateway("gets a long code block in parts that are code each", async ({ world, expect }) => {
    const { home } = world.start();
    const code = Array.from({ length: 300 }, (_, index) => `const value${index} = "${index} & <more>";`).join("\n");
    world.model.answer(() => ({ text: `Here:\n\n\`\`\`ts\n${code}\n\`\`\`\n\nThat is all.` }));
    world.telegram.say("code");
    await outcomesOf(home, 1);
    await world.told("That is all.");
    const sent = world.telegram.sent.filter((call) => call.method === "sendMessage");
    expect(sent.length).toBeGreaterThan(2);
    for (const call of sent.filter((it) => it.text.includes("const value")))
      expect(call.text).toMatch(/<pre>.*<\/pre>/s);
    expect(world.telegram.shown(1001).join("\n")).toContain('const value299 = "299 & <more>";');
  });

  test("asks an owner in a group, who may answer there", async ({ world }) => {
    await world.start({
      commands: { ownerAllowFrom: ["1001"] },
      // In a sandbox a group's commands do not ask.
      agents: { defaults: { sandbox: { mode: "off" } } },
      channels: { telegram: { groups: { "*": {} } } },
    });
    world.model.answer((call) =>
      call.isAfterTool
        ? { text: `result: ${call.toolText}` }
        : { tool: "exec", args: { command: "touch x && echo ran-it" } },
    );
    const chat = { id: -100_800, type: "supergroup", title: "Team" };
    world.telegram.say("@test_bot run it", { chat, from: { id: 2002, first_name: "Bob" } });
    const asked = await world.told("/approve", chat.id);
    const id = /\/approve (\w+)/.exec(asked.text)?.[1];
    world.telegram.say(`/approve ${id} once`, { chat, from: { id: 2002, first_name: "Bob" } });
    world.telegram.say(`/approve ${id} once`, { chat, from: { id: 1001, first_name: "Ada" } });
    await world.told(/result: .*ran-it/s, chat.id);
  });

  inOneGateway("shows an edited message as such", async ({ world, expect }) => {
    const { home } = world.start();
    const message = {
      message_id: 901,
      date: seconds() - 86_400,
      edit_date: seconds(),
      text: "better words",
      from: { id: 1001, is_bot: false, first_name: "Ada" },
      chat: { id: 1001, type: "private", first_name: "Ada" },
    };
    world.telegram.inject({ edited_message: message });
    expect(await outcomesOf(home, 1)).toEqual([{ kind: "replied" }]);
    expect(world.model.calls[0]?.said).toContain('"is_edit": true');
    expect(world.model.calls[0]?.said).toContain("better words");
  });

  test("has two bots, each with its own people", async ({ world, expect }) => {
    const other = await startFakeTelegram();
    const { home } = await world.start({
      channels: {
        telegram: {
          accounts: {
            default: {},
            work: { apiRoot: other.url, botToken: other.token, allowFrom: ["1002"], dmPolicy: "allowlist" },
          },
        },
      },
    });
    world.telegram.say("to the first");
    await world.told("to the first");
    other.say("to the second", { from: { id: 1002, first_name: "Bob" } });
    await other.waitFor((call) => call.text.includes("to the second"));
    other.say("stranger", { from: { id: 1001, first_name: "Ada" } });
    const outcomes = await outcomesOf(home, 3);
    expect(outcomes[2]).toMatchObject({ kind: "dropped" });
    await other.close();
  });
});
