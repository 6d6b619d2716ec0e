import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, vi } from "vitest";
import { type Home, PATIENCE } from "../../kit/gateway/process.ts";
import { call } from "../../kit/gateway/rpc.ts";
import { outcomesOf, sessionsOf } from "../../kit/gateway/state-files.ts";
import { test, type World } from "../../kit/gateway/world.ts";

function sendsOf({ stateDir }: Home): readonly unknown[] {
  const journal = new DatabaseSync(join(stateDir, "state", "journal.sqlite"), { readOnly: true });
  try {
    return journal
      .prepare("SELECT state FROM outbox")
      .all()
      .map((row) => row["state"]);
  } finally {
    journal.close();
  }
}

interface Speech {
  /** Each request waits for it. */
  readonly ready?: Promise<void>;
  /** Each request is broken off when it resolves. */
  readonly brokenOff?: Promise<void>;
}

/** A speech service of this machine, and what it was asked to say. */
async function speechServer({ ready = Promise.resolve(), brokenOff }: Speech = {}) {
  const said: string[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (part: Buffer) => (text += part.toString()));
    request.on("end", () => {
      said.push((JSON.parse(text) as { input: string }).input);
      if (brokenOff) return void brokenOff.then(() => response.destroy());
      void ready.then(() => {
        response.writeHead(200, { "content-type": "audio/ogg" });
        response.end("OggS-sound");
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { said, tts: { providers: { local: { baseUrl: `http://127.0.0.1:${port}` } } }, close: () => server.close() };
}

const voicesIn = (world: World) => world.telegram.sent.filter(({ method, ok }) => method === "sendVoice" && ok);

describe.concurrent("spoken answers", () => {
  test("come after their text to every message, as the chat sets it, and through a restart", async ({
    world,
    expect,
  }) => {
    const speech = await speechServer();
    const { home, gateway } = await world.start({ messages: { tts: speech.tts } });
    world.model.answer(() => ({ text: "It is **noon**." }));
    world.telegram.say("what time is it?");
    await outcomesOf(home, 1);
    expect(speech.said).toEqual([]);
    world.telegram.say("/tts always");
    await world.told("Speech: always (set here). Each answer also comes as a voice message. Spoken by local.");
    expect(Object.values(sessionsOf(home))[0]?.["ttsAuto"]).toBe("always");
    world.telegram.say("and now?");
    await world.telegram.waitFor(({ method, ok }) => method === "sendVoice" && ok);
    expect(speech.said).toEqual(["It is noon."]);
    expect(world.model.calls.at(-1)?.system).toContain("## Voice (TTS)");
    await vi.waitFor(() => expect(sendsOf(home).every((state) => state === "sent")).toBe(true), PATIENCE);
    await outcomesOf(home, 3);
    await gateway.kill("SIGKILL");
    await home.start();
    world.telegram.say("/tts off and tell me again");
    await outcomesOf(home, 4);
    expect(voicesIn(world)).toHaveLength(1);
    speech.close();
  });

  test("come where the agent marks its answer, or the message asks for one", async ({ world, expect }) => {
    const speech = await speechServer();
    const { home } = await world.start({ messages: { tts: { ...speech.tts, auto: "tagged" } } });
    const answers = [
      ["sing", "[[tts]] La la."],
      ["read", "It is below. [[tts:text]]Once upon a time.[[/tts:text]]"],
    ];
    world.model.answer(({ said }) => ({ text: answers.find(([word = ""]) => said.includes(word))?.[1] ?? "Silence." }));
    world.telegram.say("sing");
    await world.telegram.waitFor(({ method, ok }) => method === "sendVoice" && ok);
    world.telegram.say("hush");
    world.telegram.say("/tts always say it");
    await outcomesOf(home, 3);
    await world.telegram.waitFor(() => voicesIn(world).length === 2);
    expect(speech.said).toEqual(["La la.", "Silence."]);
    world.telegram.say("read to me");
    await world.telegram.waitFor(() => voicesIn(world).length === 3);
    expect(speech.said.at(-1)).toBe("Once upon a time.");
    expect(world.telegram.shown(1001)).toContain("It is below.");
    expect(world.telegram.shown(1001).join()).not.toContain("tts");
    world.telegram.say("/tts help");
    await world.told("Use off, always, inbound, tagged or default; or audio and a text");
    speech.close();
  });

  test("are announced by typing while they are made", async ({ world, expect }) => {
    const gate = Promise.withResolvers<void>();
    const speech = await speechServer({ ready: gate.promise });
    await world.start({ messages: { tts: { ...speech.tts, auto: "always" } } });
    world.telegram.say("tell me");
    const answer = await world.told("echo:");
    await vi.waitUntil(() => speech.said.length === 1, PATIENCE);
    await world.telegram.waitFor(({ method, at }) => method === "sendChatAction" && at > answer.at);
    expect(voicesIn(world)).toEqual([]);
    gate.resolve();
    await world.telegram.waitFor(({ method, ok }) => method === "sendVoice" && ok);
    speech.close();
  });

  test("are made by the tool, which the agent attaches", async ({ world, expect }) => {
    const speech = await speechServer();
    await world.start({ commands: { ownerAllowFrom: ["1001"] }, messages: { tts: speech.tts } });
    world.model.answer(({ isAfterTool, toolText }) =>
      isAfterTool
        ? { text: `Here it is. ${/\[\[audio_as_voice\]\]\n\[\[media:[^\]]+\]\]/.exec(toolText)?.[0]}` }
        : { tool: "tts", args: { text: "A poem." } },
    );
    world.telegram.say("record a poem");
    await world.telegram.waitFor(({ method, ok }) => method === "sendVoice" && ok);
    expect(speech.said).toEqual(["A poem."]);
    speech.close();
  });

  test("do not keep an answer back when the service fails", async ({ world, expect }) => {
    const { home, gateway } = await world.start({
      commands: { ownerAllowFrom: ["1001"] },
      messages: { tts: { auto: "always", providers: { gone: { baseUrl: "http://127.0.0.1:1" } } } },
    });
    world.telegram.say("hello");
    await world.told("echo:");
    expect(await outcomesOf(home, 1)).toEqual([{ kind: "replied" }]);
    expect(voicesIn(world)).toEqual([]);
    const settings = await call(gateway, "sessions.describe", { key: "telegram:default:1001" });
    expect(settings).toMatchObject({ settings: { ttsAuto: { value: "always", source: "default" } } });
    world.telegram.say("/tts audio hi");
    await world.told("could not be spoken: gone:");
  });

  test("are one at a time for a conversation, and tell a guest nothing of this machine", async ({ world, expect }) => {
    const held = Promise.withResolvers<void>();
    const speech = await speechServer({ brokenOff: held.promise });
    await world.start({
      commands: { ownerAllowFrom: ["7"] },
      messages: { tts: { providers: { piper: { command: ["/nowhere/piper"] }, ...speech.tts.providers } } },
    });
    for (const word of ["one", "two"]) world.telegram.say(`/tts audio ${word}`);
    await world.told("I still speak the text before.");
    await vi.waitUntil(() => speech.said.length > 0, PATIENCE);
    held.resolve();
    await world.told("The operator can see why in the gateway's log.");
    expect(world.telegram.shown(1001).join()).not.toMatch(/nowhere|piper|ENOENT|127\.0\.0\.1/);
    expect(speech.said).toEqual(["one"]);
    speech.close();
  });
});
