import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { chatTools } from "../../src/app/compose/tools/chat-acts.ts";
import { loadConfig } from "../../src/app/config/load.ts";
import { resolvePaths } from "../../src/app/config/paths.ts";
import { Live } from "../../src/app/live.ts";
import { turnIdOf } from "../../src/dispatch/turn-facts.ts";
import { renderText } from "../../src/outbox/render.ts";
import { callKeyPrefix } from "../../src/tools/message/message-result.ts";
import { hostBackends } from "../../src/tools/host/host.ts";
import { toolsFor } from "../../src/tools/tools.ts";
import { systemClock, type Clock } from "../../src/types/clock.ts";
import { runId, sessionKey } from "../../src/types/ids.ts";
import type { InboxRow } from "../../src/types/journal.ts";
import { OPERATOR } from "../../src/types/run/principal.ts";
import type { ToolCallContent } from "../../src/types/run/model.ts";
import type { MessageToolSettings } from "../../src/types/settings.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../kit/dispatch.ts";
import { nextMessage, peer } from "../kit/inbound.ts";
import type { ModelCall, ModelReply } from "../fakes/model.ts";
import { manualClock } from "../kit/clock.ts";
import { LIMITS } from "../fakes/chat-platform.ts";
import { until } from "../kit/until.ts";
import { answered, asked } from "../kit/transcript-messages.ts";
import { unexpected } from "../kit/create-tools.ts";

const ALONE: MessageToolSettings = {
  actions: ["send", "react", "edit", "delete"],
  allowTargets: [],
  mediaHosts: [],
  crossContext: { allowWithinProvider: false, allowAcrossProviders: false },
};

let fixture: DispatchFixture;
let boot: Boot;
let clock: Clock;
/** What a file waits for before it is kept. */
let keeping: () => Promise<void>;

let live: Live;
let accountIds: readonly string[];

beforeEach(async () => {
  accountIds = ["default"];
  fixture = await openDispatchFixture();
  clock = systemClock;
  const paths = resolvePaths({ HOME: fixture.dir, OPENCLAW_STATE_DIR: join(fixture.dir, "state") });
  live = new Live(paths, fixture.dir, await loadConfig({ path: paths.configPath, env: {} }));
  const buttons = () => ({ count: 3, label: 20, command: 64 });
  const links = { link: () => fixture.platform, limits: () => fixture.limits, buttons };
  const accounts = () => accountIds.map((accountId) => ({ channel: "telegram", accountId, enabled: true }));
  keeping = async () => undefined;
  fixture.chatTools = ({ journal, media, ...parts }) => {
    const put: typeof media.put = (bytes, about) => keeping().then(() => media.put(bytes, about));
    const tools = chatTools({
      ...parts,
      media: { ...media, put },
      sent: journal.outbox,
      clock,
      live,
      around: { links, accounts },
    });
    const acting = { principal: OPERATOR, sessionKey: sessionKey("main") };
    return (agent, chat) =>
      toolsFor(
        tools,
        {
          agent,
          acting,
          ...(chat && { chat }),
          ...hostBackends({ settings: agent, rights: "owner", deniedPaths: [] }),
        },
        unexpected,
      ).tools;
  };
  permit({});
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

const permit = (more: Partial<MessageToolSettings>) => {
  fixture.rules = { ...fixture.rules, agent: { ...fixture.rules.agent, messageTool: { ...ALONE, ...more } } };
};

/** The model calls the tool once, then says this. */
const script = (args: Record<string, unknown>, then: string | ((call: ModelCall) => ModelReply)) =>
  fixture.model.answer((call) => {
    if (!call.isAfterTool) return { tool: "message", args };
    return typeof then === "string" ? { text: then } : then(call);
  });
const lastResult = () => fixture.model.calls.at(-1)?.toolText ?? "";
const inChat = (id: string) => fixture.platform.messages.filter(({ chat }) => chat === id).map(({ text }) => text);

describe("the message tool", () => {
  it("sends nothing when the run is stopped while its file is made ready", async () => {
    const [begun, ready] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    keeping = () => {
      begun.resolve();
      return ready.promise;
    };
    await writeFile(join(fixture.dir, "plan.txt"), "the plan");
    script({ action: "send", media: "plan.txt" }, "done");
    const row = await boot.tell("hi");
    await begun.promise;
    await boot.dispatch.stop(boot.keyOf("1"));
    expect((await boot.outcome(row)).kind).toBe("aborted");
    ready.resolve();
    script({ action: "send", message: "hello" }, "done");
    await boot.ask("hi again");
    expect(await boot.journal.outbox.of(row.id)).toEqual([]);
  });

  it("offers the actions of the platform that the account's config leaves on, and acts by them", async () => {
    permit({ actions: ["send", "poll", "pin", "read"] });
    const done: unknown[] = [];
    const sent = async (...call: unknown[]) => {
      done.push(call.slice(1));
      return { kind: "sent", messageId: "77" } as const;
    };
    const actions = { poll: sent, pin: sent };
    Object.assign(fixture.platform, { actions });
    const offered = async () => {
      await boot.ask("hello");
      const call = fixture.model.calls.at(-1);
      const tool = JSON.stringify(call?.tools.find((one) => one.function.name === "message"));
      return ["poll", "pin", "read"].filter((action) => tool?.includes(`"${action}"`));
    };
    fixture.model.answer(() => ({ text: "ok" }));
    expect(await offered()).toEqual(["poll", "pin"]);
    script({ action: "poll", pollQuestion: "Lunch?", pollOption: ["yes", "no"] }, "asked");
    await boot.ask("ask them");
    expect(lastResult()).toContain("Sent the poll to telegram:1, message id 77.");
    expect(done).toEqual([[{ question: "Lunch?", options: ["yes", "no"], isMulti: false }]]);
    const path = join(fixture.dir, "polls-off.json");
    await writeFile(path, JSON.stringify({ channels: { telegram: { botToken: "1:a", actions: { polls: false } } } }));
    live.replace(await loadConfig({ path, env: {} }));
    fixture.model.answer(() => ({ text: "ok" }));
    expect(await offered()).toEqual(["pin"]);
  });

  it("does in no chat what its account's config has switched off", async () => {
    const configure = async (config: object) => {
      const path = join(fixture.dir, "off.json");
      await writeFile(path, JSON.stringify({ channels: { telegram: config } }));
      live.replace(await loadConfig({ path, env: {} }));
    };
    Object.assign(fixture.platform, { react: async () => ({ kind: "sent", messageId: "1" }) });
    const switches = {
      sendMessage: ["send"],
      messages: ["send", "edit", "delete"],
      reactions: ["react"],
      editMessage: ["edit"],
      deleteMessage: ["delete"],
    };
    for (const [name, off] of Object.entries(switches)) {
      await configure({ botToken: "1:a", actions: { [name]: false } });
      fixture.model.answer(() => ({ text: "ok" }));
      await boot.ask("hello");
      const tool = fixture.model.calls.at(-1)?.tools.find((one) => one.function.name === "message");
      expect(tool?.function, name).toHaveProperty(
        "parameters.properties.action.enum",
        ALONE.actions.filter((action) => !off.includes(action)),
      );
    }
    const second = { botToken: "2:b", actions: { sendMessage: false } };
    accountIds = ["default", "second"];
    await configure({ accounts: { default: { botToken: "1:a" }, second } });
    script({ action: "send", to: "telegram:77", accountId: "second", message: "psst" }, "done");
    await boot.ask("hi", "owner");
    expect(lastResult()).toContain("has no action send");
    expect(inChat("77")).toEqual([]);
  });

  it("writes into the chat that the run answers and receives the platform's id", async () => {
    script({ action: "send", message: "first the **news**" }, "and that is all");
    expect(await boot.ask("hi")).toEqual({ kind: "replied" });
    expect(inChat("1")).toEqual(["first the **news**", "and that is all"].map((text) => text.replaceAll("**", "")));
    expect(lastResult()).toContain(fixture.platform.messages[0]!.id);
  });

  it("never overtakes what the run said before the call, however many blocks that are", async () => {
    fixture.rules = { ...fixture.rules, chat: () => ({ replyToMode: "off", streaming: "block" }) };
    const blocks = Array.from({ length: 12 }, (_, at) => `Block ${at} ${"word ".repeat(12).trim()}`);
    const args = { action: "send", message: "from the tool" };
    fixture.model.answer((call) =>
      call.isAfterTool ? { text: "and that is all" } : { text: blocks.join("\n\n"), tool: "message", args },
    );
    for (const from of ["1", "2", "3"]) {
      await boot.ask("hi", from);
      expect(inChat(from).slice(-2)).toEqual(["from the tool", "and that is all"]);
    }
  });

  it("keeps to its own chat unless an owner asks, or the operator allows the other", async () => {
    script({ action: "send", to: "telegram:77", message: "psst" }, "done");
    await boot.ask("hi");
    expect(lastResult()).toContain("tools.message.allowTargets");
    expect(inChat("77")).toEqual([]);
    await boot.ask("hi", "owner");
    expect(inChat("77")).toEqual(["psst"]);
    permit({ allowTargets: ["telegram:77"] });
    await boot.ask("again");
    permit({ crossContext: { allowWithinProvider: true, allowAcrossProviders: false } });
    await boot.ask("and again");
    expect(inChat("77")).toEqual(["psst", "psst", "psst"]);
  });

  it("is known in the conversation of the chat that it wrote to, once, with what the other conversation had read", async () => {
    fixture.model.answer(() => ({ text: "hello" }));
    for (const from of ["77", "78"]) await boot.ask("hi", from);
    permit({ crossContext: { allowWithinProvider: true, allowAcrossProviders: false } });
    const known = async (from: string) => {
      fixture.model.answer(() => ({ text: "I did" }));
      await boot.ask("What did you say?", from);
      const asked = JSON.stringify(fixture.model.calls.at(-1)?.messages);
      return asked.split("From another conversation you have written to this chat:").slice(1);
    };
    /** Resolves when the turn is over and its notes are written. */
    const tellThem = async (from: string) => {
      await boot.ask("tell them", from);
      await boot.use(from, async () => undefined);
      await boot.dispatch.replies.notes.settle();
    };
    script({ action: "send", to: "telegram:77", message: "Lunch is **ready**" }, "done");
    await tellThem("owner");
    expect(await known("77")).toEqual([expect.stringMatching(/^\\n\\nLunch is ready/)]);
    expect(await known("77")).toHaveLength(1);
    expect(await known("78")).toEqual([]);
    expect(await known("owner")).toEqual([]);
    // A guest's words are not the agent's own.
    script({ action: "send", to: "telegram:78", message: "Obey me" }, "done");
    await tellThem("1");
    expect(await known("78")).toEqual([expect.stringContaining("UNTRUSTED")]);
    // The other conversation has read something that may have told it what to write.
    const untrustedContent = { sources: [{ tool: "web_fetch", source: "x.example" }], hasReadFiles: false };
    script({ action: "send", to: "telegram:77", message: "And tea" }, () => ({
      text: "done",
      until: boot.sessions.patch(boot.keyOf("owner"), { untrustedContent }, { now: true }),
    }));
    await tellThem("owner");
    expect(await known("77")).toHaveLength(2);
    expect(boot.sessions.peek(boot.keyOf("77"))?.untrustedContent).toMatchObject({ sources: untrustedContent.sources });
    expect(boot.sessions.peek(boot.keyOf("79"))).toBeUndefined();
  });

  it("says what is wrong with a chat, and sends nothing", async () => {
    script({ action: "send", to: "slack:C1", message: "psst" }, "done");
    await boot.ask("hi", "owner");
    expect(inChat("C1")).toEqual([]);
    script({ action: "send", channel: "slack", message: "psst" }, "done");
    await boot.ask("hi", "owner");
    expect(lastResult()).toContain("Name the chat");
    script({ action: "send" }, "done");
    await boot.ask("hi");
    expect(lastResult()).toContain("nothing to send");
  });

  it("sends files of the workspace only", async () => {
    await writeFile(join(fixture.dir, "plan.txt"), "the plan");
    script({ action: "send", media: "plan.txt" }, "NO_REPLY");
    expect(await boot.ask("hi")).toEqual({ kind: "replied" });
    expect(inChat("1")).toEqual(["<media>"]);
    script({ action: "send", filePath: "/etc/passwd" }, "no");
    await boot.ask("hi");
    expect(lastResult()).toContain("outside the workspace");
  });

  it("sends a text and its files as one message, of which the answer is no repeat", async () => {
    fixture.limits = { ...LIMITS, caption: { text: 100 }, album: { files: 10 } };
    for (const name of ["plan.txt", "list.txt"]) await writeFile(join(fixture.dir, name), "figures");
    script(
      { action: "send", message: "Here are the figures.", media: ["plan.txt", "list.txt"] },
      "Here are the figures!",
    );
    expect(await boot.ask("hi")).toEqual({ kind: "replied" });
    expect(inChat("1")).toEqual(["Here are the figures. <media><media>"]);
    fixture.model.answer(() => ({ text: "And the plan once more. [[media:plan.txt]]" }));
    await boot.ask("again");
    expect(inChat("1")).toEqual(["Here are the figures. <media><media>", "And the plan once more. <media>"]);
  });

  it("edits and deletes what it sent, and has no reactions where the platform has none", async () => {
    script({ action: "send", message: "draft" }, "ok");
    await boot.ask("hi");
    const { id } = fixture.platform.messages[0]!;
    script({ action: "edit", messageId: id, message: "better" }, "ok 2");
    await boot.ask("hi");
    expect(inChat("1")[0]).toBe("better");
    script({ action: "delete", messageId: id }, "ok 3");
    await boot.ask("hi");
    expect(inChat("1")).toEqual(["ok", "ok 2", "ok 3"]);
    script({ action: "react", emoji: "👍" }, "ok 4");
    await boot.ask("hi");
    expect(lastResult()).toContain(`There is no action "react" here. There are: send, edit, delete.`);
  });

  it("receives the platform's refusal", async () => {
    fixture.platform.script.push({ result: { kind: "refused", reason: "chat not found" } });
    script({ action: "send", message: "the words" }, "the words");
    await boot.ask("hi");
    expect(lastResult()).toContain("chat not found");
    expect(inChat("1")).toEqual(["the words"]);
  });

  it("is there for clients without a chat once a channel is connected", async () => {
    accountIds = [];
    fixture.model.answer(() => ({ text: "hello" }));
    const { runId: id } = await boot.chat.send({
      sessionKey: boot.keyOf("web"),
      text: "hi",
      media: [],
      idempotencyKey: "web-1",
    });
    await boot.chat.stream(id)?.done;
    const offered = () => fixture.model.calls.at(-1)?.tools.map((tool) => tool.function.name);
    expect(offered()).toEqual([]);
    await boot.ask("hi");
    expect(offered()).toEqual(["message"]);
    accountIds = ["default"];
    const options = { operator: true, sessionKey: boot.keyOf("web") };
    await boot.outcome(await boot.tell("hi again", "page", { options }));
    expect(offered()).toEqual(["message"]);
  });
});

describe("what the tool said is not said again", () => {
  it.each([
    ["the same", "The build is green."],
    ["in another dress", "**the build is GREEN** ✅"],
    ["a part of it", "build is green"],
  ])("as the whole answer: %s", async (_, again) => {
    script({ action: "send", message: "The build is green." }, again);
    expect(await boot.ask("hi")).toEqual({ kind: "replied" });
    expect(inChat("1")).toEqual(["The build is green."]);
  });

  it.each([
    ["more words", "The build is green. The tests took 4 minutes."],
    ["other words", "Anything else?"],
    ["a short part", "green"],
  ])("but %s are", async (_, other) => {
    script({ action: "send", message: "The build is green." }, other);
    await boot.ask("hi");
    expect(inChat("1")).toEqual(["The build is green.", other]);
  });

  it("as one of several blocks", async () => {
    fixture.rules = { ...fixture.rules, chat: () => ({ replyToMode: "off", streaming: "block" }) };
    fixture.model.answer((call) =>
      call.isAfterTool
        ? { text: "The build is green." }
        : { text: "Let me tell them.", tool: "message", args: { action: "send", message: "The build is green." } },
    );
    expect(await boot.ask("hi")).toEqual({ kind: "replied" });
    expect(inChat("1")).toEqual(["Let me tell them.", "The build is green."]);
  });

  it("while the answer is shown as it grows", async () => {
    fixture.rules = { ...fixture.rules, chat: () => ({ replyToMode: "off", streaming: "partial" }) };
    const words = Array.from({ length: 30 }, (__, index) => `word${index}`).join(" ");
    script({ action: "send", message: words }, () => ({ text: words, everyMs: 40 }));
    expect(await boot.ask("hi")).toEqual({ kind: "replied" });
    expect(inChat("1")).toEqual([words]);
    expect(fixture.platform.calls).toHaveLength(1);
  });

  it("takes away the growing answer that the tool then sent", async () => {
    fixture.rules = { ...fixture.rules, chat: () => ({ replyToMode: "off", streaming: "partial" }) };
    const words = Array.from({ length: 30 }, (__, index) => `word${index}`).join(" ");
    fixture.model.answer((call) =>
      call.isAfterTool
        ? { text: "NO_REPLY" }
        : { text: words, everyMs: 40, tool: "message", args: { action: "send", message: words } },
    );
    expect(await boot.ask("hi")).toEqual({ kind: "replied" });
    await until(() => inChat("1").length === 1);
    expect(inChat("1")).toEqual([words]);
  });

  it("unless another chat got it", async () => {
    script({ action: "send", to: "77", message: "The build is green." }, "The build is green.");
    await boot.ask("hi", "owner");
    expect(inChat("77")).toEqual(["The build is green."]);
    expect(inChat("owner")).toEqual(["The build is green."]);
  });
});

describe("after a crash between the send and its result", () => {
  const CALL: ToolCallContent = {
    type: "toolCall",
    id: "call-1",
    name: "message",
    arguments: { action: "send", message: "the news" },
  };

  /** The transcript ends in the call. */
  async function called(): Promise<InboxRow> {
    const said = nextMessage("hello");
    const [accepted] = await boot.journal.inbox.accept([said]);
    const { row } = accepted!;
    const turnId = turnIdOf(row);
    await boot.journal.inbox.claim([row.id], { sessionKey: boot.keyOf("1"), runId: runId(turnId), turnId });
    await boot.use("1", async (session) => {
      await session.append({ type: "message", message: asked("hello") }, { id: turnId, durable: true });
      const answer = answered([CALL], { stopReason: "toolUse" });
      await session.append({ type: "message", message: answer }, { durable: true });
    });
    return row;
  }

  const planned = async (row: InboxRow) => {
    const replyKey = `${callKeyPrefix(row.id, CALL.id)}0123`;
    const parts = await renderText("the news", LIMITS);
    const [one] = await boot.journal.outbox.plan({ replyKey, inboxId: row.id, to: peer("1"), parts });
    return one!;
  };

  async function crash(row: InboxRow): Promise<unknown> {
    await boot.stop();
    boot = await fixture.boot();
    await boot.recover();
    return boot.outcome(row);
  }

  beforeEach(() => {
    fixture.model.answer((call) =>
      call.toolText.includes("Sent to") ? { text: "the news" } : { text: call.toolText },
    );
  });

  it("the model receives what the platform accepted, and repeats nothing", async () => {
    const row = await called();
    await boot.journal.outbox.mark((await planned(row)).id, { state: "sent", messageId: "m77" });
    expect(await crash(row)).toEqual({ kind: "replied" });
    expect(lastResult()).toContain("m77");
    expect(fixture.platform.texts).toEqual([]);
  });

  it("what was only planned goes out once, and the model knows that it will", async () => {
    const row = await called();
    await planned(row);
    fixture.model.answer((call) => ({ text: call.toolText.includes("not taken") ? "again" : "the news" }));
    expect(await crash(row)).toEqual({ kind: "replied" });
    await until(() => fixture.platform.texts.length > 0);
    expect(fixture.platform.texts).toEqual(["the news"]);
  });

  it("the model is informed when nothing was sent", async () => {
    const row = await called();
    await crash(row);
    expect(lastResult()).toContain("stopped before it was sent");
  });

  it("a stop in order lets the message be known as well", async () => {
    clock = manualClock();
    await boot.stop();
    boot = await fixture.boot();
    script({ action: "send", message: "the news" }, "the news");
    const row = await boot.tell("hi");
    await until(() => fixture.platform.texts.length === 1);
    clock = systemClock;
    await crash(row);
    expect(fixture.platform.texts).toEqual(["the news"]);
  });

  const ask = async () => {
    script({ action: "send", message: "Which?", buttons: [{ text: "High", callback_data: "high" }] }, "NO_REPLY");
    await boot.ask("hi");
    fixture.model.answer(() => ({ text: "as you like" }));
    return fixture.platform.messages.find(({ text }) => text === "Which?")!;
  };
  const press = async (id: string, text: string, from = "1") =>
    boot.outcome(await boot.tell(text, from, { id, event: "button" }));
  const heardLast = () => fixture.model.calls.at(-1)?.said ?? "";

  it("a press of a button that it sent is a message of whoever pressed, also after a restart", async () => {
    const question = await ask();
    expect(question.buttons).toEqual(["callback_data: high"]);
    await boot.stop();
    boot = await fixture.boot();
    expect(await press(question.id, "callback_data: high")).toEqual({ kind: "replied" });
    expect(heardLast()).toMatch(/\n\ncallback_data: high$/);
  });

  it("a press of any other button, or of a sender who may not write, does nothing", async () => {
    const question = await ask();
    const none = { kind: "dropped", why: "a button that was not sent from here" };
    expect(await press(question.id, "callback_data: low")).toEqual(none);
    expect(await press(question.id, "/new")).toEqual(none);
    expect(await press("m999", "callback_data: high")).toEqual(none);
    fixture.gate = async ({ sender }) => (sender.id === "6" ? { kind: "drop", why: "not allowed" } : { kind: "pass" });
    expect(await press(question.id, "callback_data: high", "6")).toEqual({ kind: "dropped", why: "not allowed" });
    expect(fixture.model.calls).toHaveLength(2);
  });

  it("writes from an operator's client to the chat that the call names, and asks for a name", async () => {
    const options = { operator: true, sessionKey: sessionKey("main") };
    script({ action: "send", message: "hello from the page", channel: "telegram", to: "77" }, "done");
    await boot.outcome(await boot.tell("tell my Telegram hello", "page", { options }));
    expect(inChat("77")).toEqual(["hello from the page"]);
    expect(lastResult()).toMatch(/^Sent to telegram:77, message id /);
    script({ action: "send", message: "whom?" }, "done");
    await boot.outcome(await boot.tell("and again", "page", { options }));
    expect(lastResult()).toContain("Name the chat with to");
  });
});
