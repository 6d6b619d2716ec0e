import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startGatewayFixture, type GatewayFixture } from "../../kit/gateway/in-process.ts";

let fixture: GatewayFixture;
beforeAll(async () => {
  fixture = await startGatewayFixture();
});
afterAll(() => fixture.close());

const send = (...args: readonly string[]) => fixture.cli("message", "send", ...args);

test("a message is sent, and its platform id is printed", async () => {
  const { code, out } = await send("--channel", "telegram", "--to", "42", "-m", "**hello**");
  expect([code, out]).toEqual([0, expect.stringMatching(/^Sent to telegram chat 42 \(default\) as \d+\.\n$/)]);
  expect(fixture.telegram.shown(42)).toEqual(["hello"]);
});

test("a group, a topic and a quoted message are named; the only channel need not be", async () => {
  const sent = await fixture.json("message", "send", "-t", "-1001:topic:7", "-m", "in a topic", "--reply-to", "5");
  expect(sent).toMatchObject({ state: "sent", chatKind: "group", chatId: "-1001", threadId: "7" });
  const call = await fixture.telegram.waitFor(({ text }) => text === "in a topic");
  expect(call.body).toMatchObject({ message_thread_id: 7, reply_parameters: { message_id: 5 } });
});

test("the same key sends nothing twice, and other words under it are refused", async () => {
  const args = ["--to", "43", "-m", "once", "--idempotency-key", "k-1"];
  const [first, second] = [await send(...args), await send(...args)];
  expect(second).toEqual(first);
  expect(fixture.telegram.shown(43)).toEqual(["once"]);
  expect(await send("--to", "43", "-m", "other", "--idempotency-key", "k-1")).toMatchObject({ code: 2 });
});

test("a dry run looks and sends nothing", async () => {
  const { code, out } = await send("--to", "44", "-m", "hello", "--dry-run");
  expect([code, out]).toEqual([0, "Would be sent to telegram chat 44 (default).\n"]);
  expect(fixture.telegram.shown(44)).toEqual([]);
});

test("a refusal of the platform is printed, with exit code 1", async () => {
  fixture.telegram.fail("sendMessage", "403");
  const { code, err } = await send("--to", "45", "-m", "hello");
  expect(code).toBe(1);
  expect(err).toMatch(/^Not sent to telegram chat 45 \(default\): .+\.\n$/);
  fixture.telegram.fail("sendMessage", "403");
  expect(await fixture.json("message", "send", "--to", "45", "-m", "hello")).toMatchObject({ state: "failed" });
});

test("a message that the platform does not take yet waits, and the output says so", async () => {
  fixture.telegram.fail("sendMessage", "429", 1, 1);
  const { code, out } = await send("--to", "46", "-m", "later", "--timeout", "100");
  expect([code, out]).toEqual([0, expect.stringMatching(/^Waits for telegram chat 46/)]);
  await fixture.telegram.waitFor(({ text }) => text === "later");
});

test("a file of this machine goes along; one of another kind of place does not", async () => {
  const file = join(fixture.dir, "report.txt");
  writeFileSync(file, "figures");
  const { code, err } = await send("--to", "47", "-m", "here", "--media", file);
  expect([code, err]).toEqual([0, ""]);
  await fixture.telegram.waitFor(({ method, text }) => method === "sendDocument" && text === "here");
  expect(fixture.telegram.shown(47)).toEqual(["here"]);
  expect(await send("--to", "47", "--media", "/nowhere/at-all")).toMatchObject({ code: 2, out: "" });
  expect(await send("--to", "47", "--media", fixture.dir)).toMatchObject({ code: 2 });
  const server = createServer((_request, response) => response.end("inside")).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const inside = await send("--to", "47", "--media", `http://127.0.0.1:${port}/x`);
  expect(inside.code).toBe(2);
  expect(inside.err).toContain("not on the public internet");
  server.close();
});

test("several files are one album below the text", async () => {
  const names = ["a.txt", "b.txt"].map((name) => join(fixture.dir, name));
  for (const name of names) writeFileSync(name, "figures");
  const sent = await send("--to", "48", "-m", "**both**", "--media", ...names);
  expect([sent.code, sent.err]).toEqual([0, ""]);
  const call = await fixture.telegram.waitFor(({ method }) => method === "sendMediaGroup");
  expect(call.body["media"]).toMatchObject([{ type: "document", caption: "<b>both</b>" }, { type: "document" }]);
  expect(fixture.telegram.shown(48)).toEqual(["both", ""]);
});

test("a message without a sound has none, also when the platform takes it late", async () => {
  fixture.telegram.fail("sendMessage", "429", 1, 1);
  const sent = await fixture.json("message", "send", "--to", "49", "-m", "hush", "--silent");
  expect(sent).toMatchObject({ state: "sent", silent: true });
  const call = await fixture.telegram.waitFor(({ text, ok }) => text === "hush" && ok);
  expect(call.body["disable_notification"]).toBe(true);
});

test.each([
  [["-m", "hello"], "Whom it is for is missing"],
  [["--to", "1"], "There is nothing to send"],
  [["--to", "1", "-m", " "], "There is nothing to send"],
  [["--to", "telegram:", "-m", "hello"], "names no chat"],
  [["--to", "1", "-m", "hello", "--channel", "slack"], "CHANNEL_MISSING: No account default of slack is on"],
  [["--to", "1", "-m", "hello", "--account", "other"], "CHANNEL_MISSING: No account other of telegram is on"],
])("%j cannot be sent", async (args, why) => {
  const { code, err } = await send(...args);
  expect(code).toBe(2);
  expect(err).toContain(why);
});
