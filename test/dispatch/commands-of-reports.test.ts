import { afterEach, beforeEach, expect, it } from "vitest";
import { Secret } from "../../src/utils/secrets/secret.ts";
import { openDispatchFixture, type Boot, type DispatchFixture } from "../kit/dispatch.ts";
import { peer } from "../kit/inbound.ts";
import { makeTool } from "../kit/tools.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  fixture.model.answer(() => ({ text: "an answer" }));
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

const told = () => fixture.platform.texts.at(-1) ?? "";
const group = { ...peer("7"), chat: { kind: "group", id: "7", title: "Friends" } } as const;
const sayInGroup = async (text: string) => boot.outcome(await boot.tell(text, "7", { from: group }));

it("/history shows the last turns as they were said, with a line for each tool and no word of the gateway", async () => {
  fixture.tools.push(makeTool("look", async () => ({ content: [{ type: "text", text: "the secret result" }] })));
  fixture.model.answer((_call, number) =>
    number === 1
      ? { tool: "look", args: { text: "", path: "notes.txt" } }
      : { text: `[[reply_to_current]]answer ${number}` },
  );
  await boot.ask("the first");
  await boot.ask("the second");
  await boot.ask("/history");
  const lines = told().split("\n");
  expect(lines.map((line) => line.slice("2026-01-01 10:00 ".length))).toEqual([
    "User 1: the first",
    "🛠️ look: notes.txt",
    "main: answer 2",
    "User 1: the second",
    "main: answer 3",
  ]);
  expect(lines[0]).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d /);
  await boot.ask("/history 1");
  expect(told().split("\n")).toHaveLength(2);
  await boot.ask("/history many");
  expect(told()).toBe("Use a number of turns from 1 to 50.");
});

it("/history leaves out turns that nobody wrote, masks secrets and shortens long texts", async () => {
  Secret.remember("s3cret-of-the-history");
  fixture.model.answer((call) => ({
    text: call.said.includes("HEARTBEAT") ? "HEARTBEAT_OK" : "a s3cret-of-the-history",
  }));
  const options = { operator: true, kind: "heartbeat", sessionKey: boot.keyOf("1"), heartbeat: { ackMaxChars: 300 } };
  await boot.ask("word ".repeat(200));
  await boot.outcome(await boot.tell("Read HEARTBEAT.md", "1", { options }));
  await boot.ask("/history");
  expect(told().split("\n")).toHaveLength(2);
  expect(told()).toMatch(/: a \[secret\]$/);
  expect(told()).not.toMatch(/s3cret|HEARTBEAT/);
  expect(told().length).toBeLessThan(500);
});

it("/history shows texts as they were written, whatever they contain", async () => {
  await boot.ask("**bold** `code` [link](http://x) snake_case _x_ ```\nfence");
  await boot.ask("/history");
  expect(told()).toContain("User 1: **bold** `code` [link](http://x) snake_case _x_ ``` fence");
});

it("/history of a group is for owners, and without turns it says so", async () => {
  await sayInGroup("/history");
  expect(told()).toContain("Only an owner may use /history");
  fixture.rules = { isOwner: () => true };
  await sayInGroup("/history");
  expect(told()).toBe("Nothing has been said in this conversation yet.");
});
