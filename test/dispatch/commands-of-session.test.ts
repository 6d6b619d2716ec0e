import { wireKey } from "../../src/sessions/keys.ts";
import { afterEach, beforeEach, expect, it } from "vitest";
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { heard, openDispatchFixture, type Boot, type DispatchFixture } from "../kit/dispatch.ts";
import { peer } from "../kit/inbound.ts";
import { until } from "../kit/until.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  fixture.model.answer(() => ({ text: "an answer" }));
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

const told = () => fixture.platform.texts.at(-1);

it("/send off leaves the session's messages unanswered until /send on, also after a restart; commands are answered", async () => {
  fixture.rules = { isOwner: () => true };
  await boot.ask("/send off");
  expect(told()).toContain("are not answered (set here)");
  expect(await boot.ask("hello")).toMatchObject({ kind: "dropped" });
  await boot.stop();
  boot = await fixture.boot();
  expect(await boot.ask("hello again")).toMatchObject({ kind: "dropped" });
  expect(fixture.model.calls).toEqual([]);
  await boot.ask("/send sometimes");
  expect(told()).toContain("Nothing is changed.");
  await boot.ask("/send on");
  expect(told()).toContain("are answered (set here)");
  expect(await boot.ask("now?")).toEqual({ kind: "replied" });
  await boot.ask("/send inherit");
  expect(told()).toContain("as configured");
});

it("/send of somebody who is no owner changes nothing", async () => {
  fixture.rules = { isOwner: () => false };
  await boot.ask("/send off");
  expect(told()).toContain("commands.ownerAllowFrom");
  expect(await boot.ask("hello")).toEqual({ kind: "replied" });
});

it("an answer whose tokens all went into thoughts is told with the command that helps", async () => {
  fixture.model.answer(() => ({ text: "", thinking: "so many thoughts", reason: "length" }));
  expect(await boot.ask("a hard question")).toMatchObject({ kind: "failed" });
  expect(told()).toContain("Choose less thinking with /think");
});

it("/whoami says who the sender is, in which chat and session, and the name for lists", async () => {
  const from = { ...peer("7"), chat: { kind: "group", id: "7", title: "Friends" } } as const;
  const sender = { id: "42", name: "Ann", username: "ann" };
  await boot.outcome(await boot.tell("/whoami", "7", { from, sender }));
  const lines = told()?.split("\n") ?? [];
  expect(lines.slice(0, 4)).toEqual([
    "You are Ann: a member of a group, no owner.",
    "Name in lists such as commands.ownerAllowFrom: telegram:42",
    "Username: ann",
    "Chat: the group Friends (telegram:7)",
  ]);
  expect(lines[4]).toBe("Session: agent:main:telegram:default:group:7");
});

it.each(["/status", "/whoami"])("%s shows the session's key as clients name it", async (command) => {
  await boot.ask(command);
  expect(told()?.split("\n")).toContain(`Session: ${wireKey(boot.keyOf("1"))}`);
});

const asked = () => JSON.stringify(fixture.model.calls.at(-1)?.messages);

it("/undo leaves the last message and its answer out, one turn each time, also after a restart; the file keeps them", async () => {
  for (const text of ["the first", "the second", "the third"]) await boot.ask(text);
  await boot.ask("/undo");
  expect(told()).toContain("left out of the conversation, with my answer: “an answer”");
  await boot.stop();
  boot = await fixture.boot();
  await boot.ask("the fourth");
  expect(asked()).toMatch(/the first.*the second.*the fourth/s);
  expect(asked()).not.toContain("the third");
  await boot.ask("/undo");
  await boot.ask("/undo");
  await boot.ask("the fifth");
  expect(asked()).toMatch(/the first.*the fifth/s);
  expect(asked()).not.toMatch(/the second|the fourth/);
  const files: string[] = [];
  for await (const file of glob(join(fixture.dir, "sessions", "*.jsonl"))) files.push(await readFile(file, "utf8"));
  expect(files.join()).toMatch(/the second.*the third.*the fourth/s);
  await boot.ask("/undo");
  await boot.ask("/undo");
  await boot.ask("/undo");
  expect(told()).toContain("There is nothing to undo");
});

it("/undo of a person's turn takes what joined it along", async () => {
  fixture.rules = { queueMode: () => "steer" };
  await boot.ask("the first");
  const gate = Promise.withResolvers<void>();
  let isWaiting = false;
  fixture.model.answer(async () => {
    isWaiting = true;
    await gate.promise;
    return { text: "to both" };
  });
  const second = await boot.tell("the second");
  await until(() => isWaiting);
  const joined = await boot.tell("it joins");
  await until(async () => (await boot.journal.inbox.find("telegram", "default", joined.message.eventKey))?.runId);
  gate.resolve();
  await boot.outcome(second);
  await boot.ask("/undo");
  await boot.ask("the third");
  expect(asked()).toMatch(/the first.*the third/s);
  expect(asked()).not.toMatch(/the second|it joins/);
});

it.each(["voice", "change:0", "plan:c1"])(
  "/stop keeps back the part %s of an answer that is not sent yet",
  async (name) => {
    fixture.model.answer(() => ({ text: "an answer" }));
    const row = await boot.tell("hello");
    await boot.outcome(row);
    await until(() => told() === "an answer");
    const held = Promise.withResolvers<void>();
    fixture.platform.gate = held.promise;
    for (const [part, markdown] of [
      ["media", "first"],
      [name, "second"],
    ] as const) {
      const blocks = [{ kind: "text", markdown }] as const;
      await boot.outbox.deliver({ replyKey: `in:${row.id}:${part}`, inboxId: row.id, to: row.message.from, blocks });
    }
    const stop = await boot.tell("/stop");
    await until(async () => (await boot.journal.outbox.of(stop.id)).length === 1);
    held.resolve();
    fixture.platform.gate = undefined;
    await until(() => told()?.includes("Stopped") === true);
    expect(fixture.platform.texts).not.toContain("second");
  },
);

it("/stop keeps back what is not sent yet of a long answer, also after a restart; later answers come", async () => {
  const held = Promise.withResolvers<void>();
  fixture.platform.gate = held.promise;
  fixture.model.answer(() => ({
    text: Array.from({ length: 400 }, (_, at) => `Line ${at} of many words.`).join("\n\n"),
  }));
  const row = await boot.tell("much");
  await until(async () => (await boot.journal.outbox.of(row.id)).length > 2);
  await until(() => fixture.platform.calls.length === 1);
  const stop = await boot.tell("/stop");
  await until(async () => (await boot.journal.outbox.of(stop.id)).length === 1);
  held.resolve();
  fixture.platform.gate = undefined;
  await boot.outcome(stop);
  await until(() => told()?.includes("Stopped") === true);
  expect(told()).toMatch(/\d+ messages of my answer will not be sent\./);
  const shown = fixture.platform.texts.length;
  expect(shown).toBeLessThanOrEqual(2);
  await boot.stop();
  boot = await fixture.boot();
  await boot.recover();
  fixture.model.answer(() => ({ text: "an answer" }));
  expect(await boot.ask("hello")).toEqual({ kind: "replied" });
  expect(fixture.platform.texts.slice(shown)).toEqual(["an answer"]);
});

it("/stop keeps back nothing of the answer that it stops: what the model has written is sent", async () => {
  fixture.model.answer(() => ({ text: "the beginning of a long answer", until: new Promise(() => undefined) }));
  const row = await boot.tell("much");
  await until(() => fixture.model.calls.length === 1);
  const waits = await boot.tell("it waits");
  const held = Promise.withResolvers<void>();
  fixture.platform.gate = held.promise;
  const stop = await boot.tell("/stop");
  await until(async () => (await boot.journal.outbox.of(stop.id)).length === 1);
  held.resolve();
  await Promise.all([row, waits, stop].map((asked) => boot.outcome(asked)));
  await until(() => fixture.platform.texts.length === 2);
  expect(fixture.platform.texts.toSorted()).toEqual([
    "the beginning of a long",
    "⏹ Stopped, together with 1 that waited.",
  ]);
});

it("/activation is kept in the group's session, and a direct chat has none", async () => {
  fixture.rules = { isOwner: () => true };
  const from = { ...peer("7"), chat: { kind: "group", id: "7", title: "Friends" } } as const;
  const say = async (text: string) => boot.outcome(await boot.tell(text, "7", { from }));
  await say("/activation always");
  expect(told()).toContain("I see every message of this group");
  await say("/activation loudly");
  expect(told()).toContain('"loudly" is no activation');
  await say("/activation default");
  expect(told()).toContain("as configured by requireMention");
  await boot.ask("/activation always");
  expect(told()).toContain("Only a group has an activation");
});

it("/undo leaves a summary alone that was made after the last message", async () => {
  await boot.ask("the first");
  await boot.ask("the second");
  const session = await boot.ports.storage.sessions.acquire(boot.keyOf("1"));
  const [first] = await session.newest(1);
  const compaction = { summary: "They talked.", firstKeptEntryId: first?.id ?? "", tokensBefore: 100 };
  await session.append({ type: "compaction", ...compaction }, { durable: true });
  session.release();
  await boot.ask("/undo");
  expect(told()).toContain("summarised after your last message");
  await boot.ask("the third");
  expect(asked()).toContain("They talked.");
  await boot.ask("/undo");
  expect(told()).toContain("left out of the conversation");
});

it("/model in a message chooses the model of that message alone, by its name or an alias; alone it chooses that of the session", async () => {
  fixture.rules = { agent: { modelAliases: { other: "spare/spare-1" } } };
  await boot.ask("/model spare/spare-1 what is it?");
  await boot.ask("and now?");
  await boot.ask("what is it /model other");
  await boot.ask("/model spare/spare-1");
  await boot.ask("for good?");
  expect(fixture.model.calls.map(({ model }) => model)).toEqual(["spare-1", "fake-1", "spare-1", "spare-1"]);
  expect(fixture.model.calls.map(({ said }) => heard(said))).toEqual([
    "what is it?",
    "and now?",
    "what is it",
    "for good?",
  ]);
});

it("/models lists the models that may be used, of all providers or of one, with their aliases", async () => {
  fixture.rules = { agent: { modelAliases: { other: "spare/spare-1" } } };
  await boot.ask("/models");
  expect(told()).toBe("Providers:\n• fake (1)\n• spare (1)\n• demo (1)\n/models <provider> lists its models.");
  await boot.ask("/models SPARE");
  expect(told()).toBe("Models of SPARE:\n• spare/spare-1 (other)\nChoose one: /model provider/id.");
  await boot.ask("/models e-1");
  expect(told()).toContain("fake/fake-1");
  await boot.ask("/models none");
  expect(told()).toContain('no model of "none"');
  fixture.rules = {
    agent: { model: { primary: { provider: "fake", id: "fake-1" }, fallbacks: [] }, allowedModels: ["fake/fake-1"] },
  };
  await boot.ask("/models");
  expect(told()).toBe("Models of fake:\n• fake/fake-1\nChoose one: /model provider/id.");
  await boot.ask("/model list");
  expect(told()).toBe("• fake/fake-1");
});

it("/commands lists every command with its other names, in pages", async () => {
  await boot.ask("/commands");
  expect(told()).toMatch(/^All commands, page 1 of 2:\n/);
  expect(told()).toContain("\n/stop – also /abort /cancel – Stop what");
  expect(told()).toMatch(/\nMore: \/commands 2$/);
  const first = told();
  await boot.ask("/commands 2");
  const names = [...`${first}\n${told()}`.matchAll(/^\/(\w+) –/gm)].map(([, name]) => name);
  expect(names).toEqual(boot.dispatch.commands.all.map(({ name }) => name));
  await boot.ask("/commands 99");
  expect(told()).toMatch(/^All commands, page 2 of 2:\n/);
});

it("/model with a model that may not be used is text in a message, and refused at its beginning", async () => {
  fixture.rules = { agent: { allowedModels: [] } };
  await boot.ask("see /model spare/spare-1 there");
  expect(fixture.model.calls.map(({ model, said }) => [model, heard(said)])).toEqual([
    ["fake-1", "see /model spare/spare-1 there"],
  ]);
  await boot.ask("/model spare/spare-1");
  expect(told()).toContain("may not be used here");
});

it("/model with a model that does not exist is answered by the usual one, which the chat is told", async () => {
  const tellings = () =>
    fixture.platform.texts.filter((text) => text.includes("in place of nowhere/gone: it is not set up here.")).length;
  await boot.ask("hello");
  await boot.ask("what is it? /model nowhere/gone");
  await until(() => tellings() === 1);
  await boot.ask("and now?");
  await boot.ask("/model nowhere/gone once more");
  await until(() => tellings() === 2);
  expect(fixture.model.calls.map(({ model }) => model)).toEqual(["fake-1", "fake-1", "fake-1", "fake-1"]);
  // The usual model is nothing to speak of.
  expect(fixture.platform.texts.filter((text) => text.includes("Answered by"))).toHaveLength(2);
});

it("/reasoning takes a level that another program wrote, and that means nothing here, for none", async () => {
  fixture.rules = { isOwner: () => true };
  await boot.ask("hello");
  const foreign: object = { reasoningLevel: "sometimes" };
  await boot.use("1", (session) => session.update(foreign));
  expect(await boot.ask("hello again")).toEqual({ kind: "replied" });
  await boot.ask("/reasoning");
  expect(told()).toContain("Reasoning: off.");
});
