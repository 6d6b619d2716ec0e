import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
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

  it.each([
    ["message_sending", { content: "b".repeat(10_000_000) }],
    ["reply_payload_sending", { payload: { text: "b".repeat(10_000_000) } }],
  ] as const)("is cut when a plugin makes it endless with %s, and the log names the plugin", async (name, answer) => {
    const warned = vi.spyOn(fixture.log, "warn");
    fixture.hooks = (on) => on(name, () => answer);
    const boot = await fixture.boot();
    await boot.ask("hello");
    expect(shown().join("").length).toBeLessThan(101_000);
    expect(shown().at(-1)).toContain("A plugin made this text longer");
    const said = expect.objectContaining({ owner: "watcher", chars: 10_000_000 });
    expect(warned).toHaveBeenCalledWith("the text of a plugin is cut", said);
  });

  it("is sent although every hook of a plugin hangs: after three the others are skipped, and the log names the plugin", async () => {
    const warned = vi.spyOn(fixture.log, "warn");
    let calls = 0;
    const hang = () => {
      calls++;
      return new Promise(() => undefined);
    };
    fixture.hooks = (on) => {
      for (const name of ["reply_payload_sending", "message_sending"] as const)
        for (let number = 0; number < 50; number++) on(name, hang, { timeoutMs: 20 });
    };
    const boot = await fixture.boot();
    await boot.ask("hello");
    expect(shown()).toEqual(["echo: hello"]);
    expect(calls).toBe(3);
    const named = (message: string) => warned.mock.calls.filter(([said]) => said === message).map(([, given]) => given);
    expect(named("hook is late")).toEqual(
      Array.from({ length: 3 }, () => ({ hook: "reply_payload_sending", owner: "watcher", ms: 20 })),
    );
    expect(named("the rest of a reply is sent without the hooks of a plugin: they were late too often")).toEqual([
      expect.objectContaining({ owner: "watcher", late: 3 }),
    ]);
  });

  it("is what a plugin makes of it again, when it was too late for the reply before", async () => {
    let isSlow = true;
    fixture.hooks = (on) => {
      for (let number = 0; number < 4; number++)
        on("message_sending", () => (isSlow ? new Promise(() => undefined) : { content: "closed" }), { timeoutMs: 20 });
    };
    const boot = await fixture.boot();
    await boot.ask("hello");
    isSlow = false;
    await boot.ask("hello again");
    expect(shown()).toEqual(["echo: hello", "closed"]);
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
