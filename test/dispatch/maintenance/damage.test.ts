import { readFile, writeFile } from "node:fs/promises";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { heard, type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";

let fixture: DispatchFixture;
beforeEach(async () => {
  fixture = await openDispatchFixture();
});
afterEach(() => fixture.close());

const told = () =>
  fixture.platform.messages.filter((message) => JSON.stringify(message).includes("can no longer be read"));

it("a conversation with a damaged line continues with all the others, and its chat is informed once", async () => {
  fixture.model.answer((call) => ({ text: `echo: ${heard(call.said)}` }));
  const boot = await fixture.boot();
  for (const words of ["first", "second", "third"]) await boot.ask(words);
  expect(told()).toEqual([]);
  let file = "";
  await boot.use("1", async (session) => {
    ({ file } = session);
  });
  const lines = (await readFile(file, "utf8")).split("\n");
  const at = lines.findIndex((line) => line.includes("echo: second"));
  await writeFile(file, lines.map((line, one) => (one === at ? line.slice(0, 40) : line)).join("\n"));
  await boot.ask("fourth");
  const sent = JSON.stringify(fixture.model.calls.at(-1)?.messages);
  for (const words of ["first", "echo: first", "second", "third", "echo: third", "fourth"])
    expect(sent).toContain(words);
  await vi.waitFor(() => expect(told()).toHaveLength(1), { timeout: 20_000 });
  await boot.ask("fifth");
  await boot.ask("sixth");
  expect(told()).toHaveLength(1);
  expect(fixture.log.lines.some((line) => line.includes("part of a transcript cannot be read"))).toBe(true);
});
