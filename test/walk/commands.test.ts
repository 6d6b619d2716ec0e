import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe } from "vitest";
import { SOON_MS } from "../kit/gateway/process.ts";
import { outcomesOf, sessionsOf, textOf, transcriptOf } from "../kit/gateway/state-files.ts";
import { sharedTest, type GatewayPart } from "../kit/gateway/shared.ts";

const inOneGateway = sharedTest({
  places: 13,
  config: { tools: { exec: { security: "full", ask: "off" } } },
  models: [
    { id: "fake-1", contextWindow: 100_000, maxTokens: 4096, reasoning: true },
    { id: "fake-2", contextWindow: 100_000, maxTokens: 4096 },
  ],
});

/** Milliseconds from the second message, which is /stop, to the end of the run, by the gateway's own clock. */
async function stopTime(gateway: GatewayPart): Promise<number> {
  const ended = await gateway.logged((line) => line["msg"] === "run ended" && line["result"] === "aborted");
  const asked = gateway.lines.filter((line) => line["msg"] === "received")[1]!;
  return Date.parse(String(ended["time"])) - Date.parse(String(asked["time"]));
}

describe.concurrent("a command", () => {
  inOneGateway("/new archives the conversation and greets", async ({ world, expect }) => {
    const { home } = world.start();
    world.script([[/fresh session/, () => ({ text: "Hello again!" })]]);
    world.telegram.say("remember the number 4711");
    await world.told("echo:");
    const before = Object.values(sessionsOf(home))[0]?.sessionId;
    world.telegram.say("/new");
    await world.told("Hello again!");
    expect(await outcomesOf(home, 2)).toHaveLength(2);
    const files = readdirSync(join(home.stateDir, "sessions"));
    expect(files.some((name) => name.startsWith(`${before}.jsonl.reset.`))).toBe(true);
    expect(Object.values(sessionsOf(home))[0]?.sessionId).not.toBe(before);
    const greeting = world.model.calls[1];
    expect(greeting?.messages.map((message) => textOf(message.content)).join()).not.toContain("4711");
  });

  inOneGateway("/new with words begins the new conversation with them", async ({ world, expect }) => {
    world.start();
    world.telegram.say("old words");
    await world.told("old words");
    world.telegram.say("/new tell me a tale");
    await world.told("tell me a tale");
    const said = world.model.calls[1]?.messages.map((message) => textOf(message.content)).join("\n") ?? "";
    expect(said).not.toContain("old words");
    expect(world.model.calls[1]?.said).not.toContain("/new");
  });

  inOneGateway("/new ends a model that hangs, and goes before what waits", async ({ world, expect }) => {
    const { home } = world.start();
    world.model.answer((call, number) => (number === 1 ? "hang" : { text: `fresh ${number} ${call.said.length > 0}` }));
    world.telegram.say("first");
    await world.model.called(1);
    world.telegram.say("/new");
    await world.told("fresh 2");
    expect((await outcomesOf(home, 2))[0]).toEqual({ kind: "aborted" });
  });

  inOneGateway("/stop ends a hanging model at once", async ({ world, expect }) => {
    const { home, gateway } = world.start();
    world.model.answer((_call, number) => (number === 1 ? "hang" : { text: "back again" }));
    world.telegram.say("never ends");
    await world.model.called(1);
    world.telegram.say("/stop");
    expect(await stopTime(gateway)).toBeLessThan(SOON_MS);
    await world.told("Stopped");
    expect(await outcomesOf(home, 2)).toEqual([{ kind: "aborted" }, { kind: "command", name: "stop" }]);
    world.telegram.say("still there?");
    await world.told("back again");
    expect(world.model.calls[1]?.said).toContain("previous agent run was aborted by the user");
  });

  inOneGateway("/stop ends a tool that runs", async ({ world, expect }) => {
    const { home, gateway } = world.start();
    world.model.answer(() => ({ tool: "exec", args: { command: "sleep 30" } }));
    world.telegram.say("sleep");
    await world.model.called(1);
    await gateway.logged("model call");
    world.telegram.say("/stop");
    expect(await stopTime(gateway)).toBeLessThan(SOON_MS);
    expect((await outcomesOf(home, 2))[0]).toEqual({ kind: "aborted" });
  });

  inOneGateway("/stop with nothing to stop says so", async ({ world }) => {
    world.start();
    world.telegram.say("/stop");
    await world.told("Nothing is running");
  });

  inOneGateway("/status names model, session, tokens and channel", async ({ world, expect }) => {
    world.start();
    world.telegram.say("hello");
    await world.told("hello");
    world.telegram.say("/status");
    const status = await world.told("Model:");
    expect(status.text).toContain(`${world.name}/fake-1`);
    expect(status.text).toMatch(/Session: .*1001/);
    expect(status.text).toMatch(/Tokens: \d+ in, \d+ out/);
    expect(status.text).toMatch(/Telegram: connected/);
  });

  inOneGateway("/help lists the commands", async ({ world, expect }) => {
    world.start();
    world.telegram.say("/help");
    const help = await world.told("Commands:");
    for (const name of ["/new", "/reset", "/stop", "/status", "/help", "/think", "/model", "/approve"])
      expect(help.text).toContain(name);
    expect(world.model.calls).toEqual([]);
  });

  inOneGateway("/think high holds for the next turn and is kept", async ({ world, expect }) => {
    const { home } = world.start();
    world.telegram.say("/think high");
    await world.told("Thinking level: high.");
    world.telegram.say("hard question");
    await world.told("hard question");
    expect(world.model.calls[0]?.effort).toBe("high");
    expect(Object.values(sessionsOf(home))[0]?.["thinkingLevel"]).toBe("high");
    world.telegram.say("/think sideways");
    await world.told("is not a thinking level");
  });

  inOneGateway("/model lists, switches and goes back", async ({ world, expect }) => {
    world.start();
    world.telegram.say("/model list");
    const list = await world.told(`${world.name}/fake-2`);
    expect(list.text).toContain(`${world.name}/fake-1`);
    world.telegram.say(`/model ${world.name}/fake-2`);
    await world.told(`is now ${world.name}/fake-2`);
    world.telegram.say("who are you?");
    await world.told("who are you?");
    expect(world.model.calls[0]?.model).toBe("fake-2");
    world.telegram.say("/model default");
    await world.told("configured one again");
    world.telegram.say("and now?");
    await world.told("and now?");
    expect(world.model.calls[1]?.model).toBe("fake-1");
  });

  inOneGateway("/export sends the conversation as a file, and /history shows it", async ({ world, expect }) => {
    world.start();
    world.telegram.say("remember the number 4711");
    await world.told("remember the number 4711");
    world.telegram.say("/export md");
    await world.told("The conversation");
    const { body } = await world.telegram.waitFor(({ method, ok }) => method === "sendDocument" && ok);
    const file = body["document"] as { name: string; bytes: Uint8Array };
    expect(file.name).toMatch(/^conversation-.*\.md$/);
    const lines = Buffer.from(file.bytes).toString().split("\n");
    expect(lines.filter((line) => line.includes("4711"))).toHaveLength(2);
    world.telegram.say("/history");
    const { text: history } = await world.told(/^\d{4}-\d\d-\d\d .*4711/);
    expect(history.split("\n")).toHaveLength(2);
    expect(world.model.calls).toHaveLength(1);
  });

  inOneGateway("an unknown one is a message like any other", async ({ world }) => {
    world.start();
    world.telegram.say("/dance with me");
    await world.told("/dance with me");
  });

  inOneGateway("leaves no user turn in the transcript", async ({ world, expect }) => {
    const { home } = world.start();
    world.telegram.say("hello");
    await world.told("hello");
    world.telegram.say("/status");
    await world.told("Model:");
    await outcomesOf(home, 2);
    const users = transcriptOf(home, ":1001").filter((entry) => entry.message?.role === "user");
    expect(users).toHaveLength(1);
  });
});
