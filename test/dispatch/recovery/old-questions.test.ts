import { afterEach, beforeEach, expect, it } from "vitest";
import { peer, until } from "../../outbox/stage.ts";
import { openHall, type Boot, type Hall } from "../stage.ts";

let hall: Hall;
let boot: Boot;
beforeEach(async () => {
  hall = await openHall();
  boot = await hall.boot();
});
afterEach(() => hall.close());

const question = (id: string) =>
  boot.outbox.deliver({
    replyKey: `approval:${id}`,
    to: peer("1"),
    blocks: [{ kind: "notice", markdown: `The agent wants to run ${id}`, because: "approval" }],
    buttons: [{ label: "Once", command: `/approve ${id} once` }],
  });

it("a question that a killed gateway left says that its command was not run, and has no buttons", async () => {
  await question("one");
  await until(() => hall.platform.messages.length === 1);
  const next = await hall.boot();
  await next.recover();
  await until(() => hall.platform.messages[0]!.edits.length === 1);
  expect(hall.platform.texts).toEqual([expect.stringContaining("restarted before anybody answered")]);
  const later = await hall.boot();
  await later.recover();
  expect(hall.platform.messages[0]!.edits).toHaveLength(1);
});

it("one that was not sent before the kill is not asked any more", async () => {
  hall.isLinked = false;
  await boot.journal.outbox.plan({
    replyKey: "approval:two",
    to: peer("1"),
    parts: [{ kind: "text", body: "wants to run two", format: "plain", plain: "wants to run two" }],
  });
  hall.isLinked = true;
  const next = await hall.boot();
  await next.recover();
  expect(await next.journal.outbox.open()).toEqual([]);
  expect(hall.platform.texts).toEqual([]);
});
