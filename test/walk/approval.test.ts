import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe } from "vitest";
import type { TelegramCall } from "../fakes/telegram.ts";
import { RawClient } from "../kit/server/server.ts";
import { PATIENCE, TOKEN } from "../kit/gateway/process.ts";
import { outcomesOf, questionsSent } from "../kit/gateway/state-files.ts";
import { sharedTest } from "../kit/gateway/shared.ts";
import { isRecord, test, type Peers } from "../kit/gateway/world.ts";

const OWNED = { commands: { ownerAllowFrom: ["telegram:1001"] } };
const inOneGateway = sharedTest({ places: 6, config: OWNED });
/** On the machine itself: in a sandbox nothing is asked. */
const ON_MACHINE = { agents: { defaults: { sandbox: { mode: "off" } } } };
const COMMAND = "touch made.txt && echo done-it";

function askForCommand(world: Peers, command = COMMAND): void {
  world.model.answer((call) =>
    call.isAfterTool ? { text: `result: ${call.toolText}` } : { tool: "exec", args: { command } },
  );
}

interface Question {
  readonly id: string;
  readonly call: TelegramCall;
  readonly buttons: readonly { text: string; callback_data: string }[];
}

async function question(world: Peers, after = 0): Promise<Question> {
  const call = await world.telegram.waitFor(
    (it) => it.text.includes("/approve") && (it.messageId ?? 0) > after && it.method === "sendMessage",
  );
  const id = /\/approve (\w+)/.exec(call.text)?.[1] ?? "";
  const markup = call.body["reply_markup"];
  const read = (typeof markup === "string" ? JSON.parse(markup) : markup) as {
    inline_keyboard: { text: string; callback_data: string }[][];
  };
  return { id, call, buttons: read.inline_keyboard.flat() };
}

function press(world: Peers, { call }: Question, data: string, from = 1001): void {
  world.telegram.inject({
    callback_query: {
      id: `press-${data}`,
      from: { id: from, is_bot: false, first_name: "Ada" },
      chat_instance: "1",
      data,
      message: {
        message_id: call.messageId,
        date: 1,
        chat: { id: Number(call.chatId), type: "private", first_name: "Ada" },
        text: call.text,
      },
    },
  });
}

describe.concurrent("a command that must be asked for", () => {
  inOneGateway("runs after /approve", async ({ world, expect }) => {
    const { home, workspace } = world.start();
    askForCommand(world);
    world.telegram.say("make it");
    const asked = await question(world);
    expect(asked.call.text).toContain("touch made.txt");
    expect(existsSync(join(workspace, "made.txt"))).toBe(false);
    world.telegram.say(`/approve ${asked.id} once`);
    await world.told(/result: .*done-it/s);
    expect(existsSync(join(workspace, "made.txt"))).toBe(true);
    expect(await outcomesOf(home, 2)).toEqual([{ kind: "replied" }, { kind: "command", name: "approve" }]);
  });

  inOneGateway("runs after a button was pressed, and the button stops spinning", async ({ world, expect }) => {
    world.start();
    askForCommand(world);
    world.telegram.say("make it");
    const asked = await question(world);
    expect(asked.buttons.map((button) => button.callback_data)).toEqual([
      `/approve ${asked.id} once`,
      `/approve ${asked.id} always`,
      `/approve ${asked.id} deny`,
    ]);
    press(world, asked, asked.buttons[0]!.callback_data);
    await world.told(/result: .*done-it/s);
    await world.telegram.waitFor((call) => call.method === "answerCallbackQuery");
  });

  inOneGateway("does not run when denied, and the model is informed", async ({ world, expect }) => {
    const { workspace } = world.start();
    askForCommand(world);
    world.telegram.say("make it");
    const asked = await question(world);
    world.telegram.say(`/approve ${asked.id} deny`);
    const reply = await world.told("result:");
    expect(reply.text).toMatch(/refused/i);
    expect(existsSync(join(workspace, "made.txt"))).toBe(false);
  });

  inOneGateway("is not for others to answer", async ({ world, expect }) => {
    const { home, workspace } = world.start();
    askForCommand(world);
    world.telegram.say("make it");
    const asked = await question(world);
    world.telegram.say(`/approve ${asked.id} once`, { from: { id: 2002, first_name: "Eve" } });
    await world.told(/owner/i, 2002);
    press(world, asked, `/approve ${asked.id} once`, 2002);
    await outcomesOf(home, 2);
    expect(existsSync(join(workspace, "made.txt"))).toBe(false);
    world.telegram.say(`/approve ${asked.id} deny`);
    await world.told("result:");
    expect(existsSync(join(workspace, "made.txt"))).toBe(false);
  });

  test("is remembered after `always`, also by the next process", async ({ world, expect }) => {
    const { home, gateway } = await world.start(OWNED);
    askForCommand(world);
    world.telegram.say("make it");
    const asked = await question(world);
    world.telegram.say(`/approve ${asked.id} always`);
    await world.told(/result: .*done-it/s);
    await outcomesOf(home, 2);
    world.telegram.say("again");
    await outcomesOf(home, 3);
    expect(await gateway.kill()).toBe(0);
    await home.start();
    world.telegram.say("and again");
    await outcomesOf(home, 4);
    const questions = world.telegram.sent.filter(
      ({ method, text }) => method === "sendMessage" && text.includes("wants to run"),
    );
    expect(questions).toHaveLength(1);
    expect(world.model.calls.filter((call) => call.isAfterTool && call.toolText.includes("done-it"))).toHaveLength(3);
  });

  inOneGateway("/stop while it waits ends the run and the question", async ({ world, expect }) => {
    const { home, workspace } = world.start();
    askForCommand(world);
    world.telegram.say("make it");
    const asked = await question(world);
    world.telegram.say("/stop");
    await world.told("Stopped");
    expect(await outcomesOf(home, 2)).toContainEqual({ kind: "aborted" });
    world.telegram.say(`/approve ${asked.id} once`);
    await world.told("its run was stopped");
    expect(existsSync(join(workspace, "made.txt"))).toBe(false);
  });

  inOneGateway("a harmless one runs without asking", async ({ world, expect }) => {
    world.start();
    askForCommand(world, "echo harmless-words");
    world.telegram.say("say it");
    await world.told(/result: .*harmless-words/s);
    expect(world.telegram.sent.filter((call) => call.text.includes("/approve"))).toEqual([]);
  });

  test("is refused at once where nobody could answer, and each place says why", async ({ world, expect }) => {
    const { home, gateway } = await world.start(ON_MACHINE);
    askForCommand(world, "touch made.txt");
    world.telegram.say("make it");
    const told = await world.told("result:");
    expect(told.text).toContain("nobody can be asked about it");
    expect(told.text).toContain("commands.ownerAllowFrom");
    await outcomesOf(home, 1);
    const line = await gateway.logged("approval not asked");
    expect(line).toMatchObject({ command: "touch made.txt", why: expect.stringContaining("commands.ownerAllowFrom") });
    const why = await home.run(["why", "#1"]);
    expect(why.stdout).toContain("1 call not asked about: no owner is named");
    const { stdout } = await home.run(["runs", "list", "--json"]);
    const id = /"runId": "([^"]+)"/.exec(stdout)?.[1] ?? "";
    expect((await home.run(["runs", "show", id])).stdout).toContain("1 call not asked about: no owner is named");
    expect(gateway.lines.filter((one) => one["msg"] === "approval asked")).toEqual([]);
  });

  test("waits while a client may decide, and after that client has gone", async ({ world, expect }) => {
    const { gateway } = await world.start(ON_MACHINE);
    askForCommand(world, "touch made.txt");
    const open = async () => {
      const client = new RawClient(`ws://127.0.0.1:${gateway.port}`);
      await client.connect({ auth: { token: TOKEN }, scopes: ["operator.approvals"] });
      return client;
    };
    const first = await open();
    world.telegram.say("make it");
    const { payload } = await first.event("exec.approval.requested");
    first.close();
    await first.closed;
    const second = await open();
    const id = isRecord(payload) ? payload["id"] : undefined;
    expect(await second.request("exec.approval.list")).toMatchObject({ payload: [{ id }] });
    expect(await second.request("exec.approval.resolve", { id, decision: "deny" })).toMatchObject({ ok: true });
    expect((await world.told("result:")).text).toContain("A person refused this command");
    second.close();
  });

  test("is shown in the targets of the config, an owner's press there decides, and a kill ends each copy", async ({
    world,
    expect,
  }) => {
    const exec = { enabled: true, mode: "both", targets: [{ channel: "telegram", to: 1003 }] };
    const owners = { commands: { ownerAllowFrom: ["telegram:1001", "telegram:1003"] } };
    const { home, gateway } = await world.start({ ...owners, approvals: { exec } });
    const shownIn = (chat: number) => world.telegram.shown(chat).join("\n");
    const copies = async (after: number) => {
      const at = (chat: string) => (call: TelegramCall) =>
        call.text.includes("/approve") && call.chatId === chat && (call.messageId ?? 0) > after;
      return Promise.all(["1001", "1003"].map((chat) => world.telegram.waitFor(at(chat))));
    };
    askForCommand(world);
    world.telegram.say("make it");
    const [own, copy] = await copies(0);
    const id = /\/approve (\w+)/.exec(copy!.text)?.[1] ?? "";
    press(world, { id, call: copy!, buttons: [] }, `/approve ${id} deny`, 1003);
    expect((await world.told("result:")).text).toMatch(/refused/i);
    for (const chat of [1001, 1003]) await expect.poll(() => shownIn(chat), PATIENCE).toContain("Denied.");
    world.telegram.say("make it again");
    await copies(Math.max(own!.messageId ?? 0, copy!.messageId ?? 0));
    await expect.poll(() => questionsSent(home), PATIENCE).toBe(4);
    await gateway.kill("SIGKILL");
    await home.start();
    for (const chat of [1001, 1003])
      await expect.poll(() => shownIn(chat), PATIENCE).toContain("restarted before anybody answered");
  });
});
