import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";

let fixture: DispatchFixture;
beforeEach(async () => {
  fixture = await openDispatchFixture();
});
afterEach(() => fixture.close());

const shown = () => fixture.platform.messages.map(({ text }) => text);

describe("a message that a plugin takes", () => {
  it.each([
    ["inbound_claim", { handled: true, reply: { text: "I take it." } }],
    ["before_dispatch", { handled: true, text: "I take it." }],
  ] as const)("is answered by %s, once, and no model is asked", async (name, answer) => {
    const asked: unknown[] = [];
    fixture.hooks = (on) =>
      on(name, (event) => {
        asked.push(event);
        return answer;
      });
    const boot = await fixture.boot();
    expect(await boot.ask("hello")).toEqual({ kind: "command", name: "plugin:watcher" });
    expect(shown()).toEqual(["I take it."]);
    expect(fixture.log.lines).toContain("info message taken by a plugin");
    expect(fixture.model.calls).toEqual([]);
    expect(asked).toEqual([
      expect.objectContaining({ content: "hello", channel: "telegram", isGroup: false, sessionKey: boot.keyOf("1") }),
    ]);
  });

  it("gets no answer when the plugin gives none, and the journal names the plugin", async () => {
    fixture.hooks = (on) => on("before_dispatch", () => ({ handled: true }));
    const boot = await fixture.boot();
    expect(await boot.ask("hello")).toEqual({
      kind: "dropped",
      why: "the plugin watcher took it and gave no answer",
    });
    expect(shown()).toEqual([]);
  });

  it("is asked about again after a restart, and answered once", async () => {
    const asked = Promise.withResolvers<void>();
    fixture.hooks = (on) =>
      on("before_dispatch", () => {
        asked.resolve();
        return new Promise(() => undefined);
      });
    const first = await fixture.boot();
    const row = await first.tell("hello");
    await asked.promise;
    fixture.hooks = (on) => on("before_dispatch", () => ({ handled: true, text: "after all" }));
    const second = await fixture.boot();
    await second.recover();
    expect(await second.outcome(row)).toMatchObject({ kind: "command" });
    expect(shown()).toEqual(["after all"]);
  });
});

it("messages keep their order while a plugin looks at one, and /stop does not wait for it", async () => {
  const looked = Promise.withResolvers<void>();
  fixture.hooks = (on) =>
    on("before_dispatch", async (event) => {
      if ((event as { content: string }).content === "one") await looked.promise;
    });
  const boot = await fixture.boot();
  const one = await boot.tell("one");
  const two = await boot.tell("two");
  const stop = await boot.tell("/stop");
  expect(await boot.outcome(stop)).toEqual({ kind: "command", name: "stop" });
  looked.resolve();
  for (const row of [one, two]) await boot.outcome(row);
  const said = fixture.model.calls.map((call) => call.said).join("\n");
  expect(said.indexOf("one")).toBeGreaterThanOrEqual(0);
  expect(said.indexOf("one")).toBeLessThan(said.indexOf("two"));
});

describe("a reply that leaves", () => {
  it("is what plugins make of it, one after the other", async () => {
    fixture.hooks = (on) => {
      on("reply_payload_sending", (event) => {
        const { payload, kind } = event as { payload: { text: string }; kind: string };
        return { payload: { text: `${payload.text} (${kind})` } };
      });
      on("message_sending", (event) => ({ content: (event as { content: string }).content.replace("secret", "[…]") }));
      on("message_sending", (event) => ({ content: `${(event as { content: string }).content}!` }));
    };
    const boot = await fixture.boot();
    await boot.ask("a secret");
    expect(shown()).toEqual(["echo: a […] (final)!"]);
  });

  it("is not shown in part before plugins have seen it whole", async () => {
    fixture.rules = { chat: () => ({ replyToMode: "off", streaming: "partial" }) };
    fixture.hooks = (on) => on("message_sending", () => ({ content: "closed" }));
    const boot = await fixture.boot();
    await boot.ask("tell me everything");
    expect(fixture.platform.calls.map(({ call, text }) => `${call} ${text}`)).toEqual(["send closed"]);
  });

  it("is not sent when a plugin cancels it, and the message has its outcome", async () => {
    fixture.hooks = (on) => on("message_sending", () => ({ cancel: true, cancelReason: "quiet hours" }));
    const boot = await fixture.boot();
    expect(await boot.ask("hello")).toMatchObject({ kind: "replied" });
    expect(shown()).toEqual([]);
    expect(fixture.log.lines).toContain("info a plugin cancelled a message");
  });

  it("is cut when a plugin makes it endless", async () => {
    fixture.hooks = (on) => on("message_sending", () => ({ content: "b".repeat(10_000_000) }));
    const boot = await fixture.boot();
    await boot.ask("hello");
    expect(shown().join("").length).toBeLessThan(101_000);
    expect(shown().at(-1)).toContain("A plugin made this text longer");
  });

  it("is sent as it is when a plugin fails", async () => {
    fixture.hooks = (on) =>
      on("message_sending", () => {
        throw new Error("no idea");
      });
    const boot = await fixture.boot();
    await boot.ask("hello");
    expect(shown()).toEqual(["echo: hello"]);
  });

  it("is reported by message_sent, with the session of its message, also when it could not be sent", async () => {
    const sent: unknown[] = [];
    fixture.hooks = (on) =>
      on("message_sent", (event, { sessionKey }) => void sent.push({ ...(event as object), sessionKey }));
    const boot = await fixture.boot();
    await boot.ask("one");
    const sessionKey = boot.keyOf("1");
    const one = { to: "1", content: "echo: one", success: true, messageId: "m1", sessionKey };
    await expect.poll(() => sent).toEqual([one]);
    fixture.platform.script.push({ result: { kind: "refused", reason: "no such chat" } });
    await boot.ask("two");
    const two = { to: "1", content: "echo: two", success: false, error: "no such chat", sessionKey };
    await expect.poll(() => sent).toEqual([one, two]);
  });
});
