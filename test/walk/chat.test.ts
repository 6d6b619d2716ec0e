import { writeFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe } from "vitest";
import { inboxOf, outcomesOf, sessionsOf, textOf, transcriptOf } from "../kit/gateway/state-files.ts";
import { sharedTest } from "../kit/gateway/shared.ts";
import { test } from "../kit/gateway/world.ts";

const modelOf = (input: readonly string[]) => ({ id: "fake-1", contextWindow: 100_000, maxTokens: 4096, input });

const inOneGateway = sharedTest({ places: 10, models: [modelOf(["text"])] });
const withSight = sharedTest({ places: 2, models: [modelOf(["text", "image"])] });

describe.concurrent("one chat", () => {
  test("a text gets its answer", async ({ world, expect }) => {
    const { home, gateway } = await world.start();
    world.telegram.say("good morning");
    const reply = await world.told("good morning");
    expect(reply.method).toBe("sendMessage");
    expect(reply.chatId).toBe("1001");
    expect(await outcomesOf(home, 1)).toEqual([{ kind: "replied" }]);
    expect(await gateway.kill("SIGTERM")).toBe(0);
    expect(transcriptOf(home, ":1001").flatMap((entry) => entry.message?.role ?? [])).toEqual(["user", "assistant"]);
    expect(world.telegram.shown(1001)).toHaveLength(1);
  });

  test("each line of the log names the session, and the run once there is one", async ({ world, expect }) => {
    const { gateway } = await world.start();
    world.model.answer((call) => (call.isAfterTool ? { text: "looked" } : { tool: "ls", args: { path: "." } }));
    world.telegram.say("look around");
    await world.told("looked");
    const { session, run } = await gateway.logged("delivered");
    expect(session).toBe("agent:main:telegram:default:1001");
    const about = (message: string) => gateway.lines.filter((line) => line["msg"] === message);
    expect(about("received")).toMatchObject([{ session }]);
    for (const decision of ["run started", "model call", "tool", "run ended", "delivered"]) {
      expect(about(decision).length, decision).toBeGreaterThan(0);
      for (const line of about(decision)) expect(line, decision).toMatchObject({ session, run });
    }
    expect(run).toMatch(/^\S+$/);
    world.telegram.say("/help");
    const answer = await gateway.logged((line) => line["msg"] === "delivered" && line["run"] === undefined);
    expect(answer).toMatchObject({ session });
  });

  inOneGateway(
    "the model asks for a file, gets it and answers; the transcript has the pair",
    async ({ world, expect }) => {
      const { home, workspace } = world.start();
      await mkdir(workspace, { recursive: true });
      await writeFile(join(workspace, "plan.txt"), "buy seven lemons\n");
      world.model.answer((call) =>
        call.isAfterTool ? { text: `The plan says: ${call.toolText}` } : { tool: "read", args: { path: "plan.txt" } },
      );
      world.telegram.say("what is the plan?");
      await world.told("The plan says: buy seven lemons");
      await outcomesOf(home, 1);
      expect(world.model.calls[0]?.tools.map((tool) => tool.function.name)).toEqual(
        expect.arrayContaining(["read", "write", "edit", "ls", "grep", "find", "exec"]),
      );
      const messages = transcriptOf(home, ":1001").flatMap((entry) => entry.message ?? []);
      expect(messages.map((message) => message.role)).toEqual(["user", "assistant", "toolResult", "assistant"]);
      const calls = messages[1]?.content as { type: string; id: string; name: string; arguments: unknown }[];
      const call = calls.find((part) => part.type === "toolCall");
      expect(call).toMatchObject({ name: "read", arguments: { path: "plan.txt" } });
      expect(messages[2]).toMatchObject({ toolCallId: call?.id, toolName: "read", isError: false });
      expect(textOf(messages[2]?.content)).toContain("buy seven lemons");
    },
  );

  inOneGateway("a tool's failure is reported to the model and the run continues", async ({ world, expect }) => {
    world.start();
    world.model.answer((call) =>
      call.isAfterTool ? { text: `It said: ${call.toolText}` } : { tool: "read", args: { path: "nowhere.txt" } },
    );
    world.telegram.say("read it");
    const reply = await world.told("It said:");
    expect(reply.text).toContain("nowhere.txt");
  });

  inOneGateway("a long answer comes in chunks that Telegram takes", async ({ world, expect }) => {
    const { home } = world.start();
    const lines = Array.from({ length: 400 }, (_, index) => `Line ${index} of **the** long & winding answer.`);
    world.model.answer(() => ({ text: lines.join("\n") }));
    world.telegram.say("tell me everything");
    await outcomesOf(home, 1);
    await world.told("Line 399");
    const shown = world.telegram.shown(1001);
    expect(shown.length).toBeGreaterThan(3);
    for (const text of shown) expect(text.length).toBeLessThanOrEqual(4096);
    expect(shown.join("\n").replace(/\s+/g, " ")).toBe(lines.join("\n").replaceAll("**", "").replace(/\s+/g, " "));
  });

  inOneGateway("Markdown becomes Telegram's HTML", async ({ world, expect }) => {
    world.start();
    world.model.answer(() => ({
      text: "**bold** and `a < b`, [a link](https://example.org/?a=1&b=2)\n\n```ts\nconst x = 1 & 2;\n```\n\n- one\n- two",
    }));
    world.telegram.say("format");
    const reply = await world.told("bold");
    expect(reply.body["parse_mode"]).toBe("HTML");
    expect(reply.text).toContain("<b>bold</b>");
    expect(reply.text).toContain("<code>a &lt; b</code>");
    expect(reply.text).toContain('<a href="https://example.org/?a=1&amp;b=2">a link</a>');
    expect(reply.text).toContain('<pre><code class="language-ts">const x = 1 &amp; 2;');
    expect(reply.text).not.toContain("**");
    expect(world.telegram.shown(1001)[0]).toContain("bold and a < b, a link");
  });

  test("thoughts and final tags never reach the chat", async ({ world, expect }) => {
    world.previews = true;
    await world.start();
    world.model.answer(() => ({
      text: "<think>the secret plan is <b>cake</b> </think> <final> Here is the visible answer for you. </final>",
      everyMs: 120,
    }));
    world.telegram.say("think first");
    await world.told("visible answer for you.");
    for (const call of world.telegram.sent) {
      expect(call.text).not.toContain("secret plan");
      expect(call.text).not.toMatch(/think|final/);
    }
  });

  inOneGateway("NO_REPLY sends nothing and ends silent", async ({ world, expect }) => {
    const { home } = world.start();
    world.script([[/say nothing/, () => ({ text: "NO_REPLY" })]]);
    world.telegram.say("say nothing");
    expect(await outcomesOf(home, 1)).toEqual([{ kind: "silent" }]);
    world.telegram.say("now speak");
    await world.told("now speak");
    expect(world.telegram.shown(1001)).toHaveLength(1);
    expect(world.telegram.sent.filter((call) => call.text.includes("NO_REPLY"))).toEqual([]);
  });

  inOneGateway("[[reply_to_current]] quotes the message", async ({ world, expect }) => {
    world.start();
    world.model.answer(() => ({ text: "[[reply_to_current]] This one." }));
    const id = world.telegram.say("which?");
    const reply = await world.told("This one.");
    expect(reply.body["reply_parameters"]).toMatchObject({ message_id: id });
    expect(reply.text).toBe("This one.");
  });

  inOneGateway("without the directive nothing is quoted", async ({ world, expect }) => {
    world.start();
    world.telegram.say("plain");
    expect((await world.told("plain")).body["reply_parameters"]).toBeUndefined();
  });

  inOneGateway("two sessions run at once, each with its own conversation", async ({ world, expect }) => {
    const { home } = world.start();
    const both = Promise.withResolvers<void>();
    world.model.answer(async (call) => {
      await both.promise;
      return { text: call.said.includes("from ada") ? "for Ada" : "for Bob" };
    });
    world.telegram.say("hello from ada", { from: { id: 1001, first_name: "Ada" } });
    world.telegram.say("hello from bob", { from: { id: 1002, first_name: "Bob" } });
    await world.model.called(2);
    expect(world.model.open).toBe(2);
    both.resolve();
    expect((await world.told("for Ada")).chatId).toBe("1001");
    expect((await world.told("for Bob")).chatId).toBe("1002");
    await outcomesOf(home, 2);
    expect(new Set(inboxOf(home).map((row) => row.session)).size).toBe(2);
  });

  test("a chat remembers what was said, also over a restart", async ({ world, expect }) => {
    const { home, gateway } = await world.start();
    world.telegram.say("my cat is called Mitzi");
    await world.told("Mitzi");
    expect(await gateway.kill()).toBe(0);
    await home.start();
    world.telegram.say("what is she called?");
    await world.model.called(2);
    const said = world.model.calls[1]?.messages.map((message) => textOf(message.content)).join("\n");
    expect(said).toContain("my cat is called Mitzi");
    await world.told("what is she called?");
    expect(Object.keys(sessionsOf(home))).toHaveLength(1);
  });
});

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

describe.concurrent("a photo", () => {
  const photo = {
    photo: [
      { file_id: "small", file_unique_id: "s", width: 1, height: 1, file_size: 5 },
      { file_id: "large", file_unique_id: "l", width: 10, height: 10, file_size: PNG.length },
    ],
    caption: "what is on it?",
    text: undefined,
  };

  withSight("is shown to a model that sees", async ({ world, expect }) => {
    world.start();
    world.telegram.file("large", PNG);
    world.telegram.say("", { more: photo });
    await world.model.called(1);
    const [call] = world.model.calls;
    expect(call?.said).toContain("what is on it?");
    expect(call?.images).toHaveLength(1);
    expect(call?.images[0]).toBe(`data:image/png;base64,${PNG.toString("base64")}`);
    await world.told("what is on it?");
  });

  inOneGateway("is named to a model that does not", async ({ world, expect }) => {
    world.start();
    world.telegram.file("large", PNG);
    world.telegram.say("", { more: photo });
    await world.model.called(1);
    const [call] = world.model.calls;
    expect(call?.images).toEqual([]);
    expect(call?.said).toContain("[media attached: ");
    expect(call?.said).toContain("image/png");
    expect(call?.said).toContain("what is on it?");
    await world.told("what is on it?");
  });

  withSight("that cannot be fetched still leaves the words to be answered", async ({ world, expect }) => {
    const { gateway } = world.start();
    world.telegram.say("", { more: photo });
    await world.told("what is on it?");
    expect((await gateway.logged("media not fetched"))["channel"]).toBe("telegram");
    expect(world.model.calls[0]?.said).toContain("[media not available: image (image/jpeg): ");
  });
});
