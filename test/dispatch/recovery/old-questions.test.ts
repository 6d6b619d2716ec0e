import { afterEach, beforeEach, expect, it } from "vitest";
import { peer } from "../../kit/inbound.ts";
import { until } from "../../kit/until.ts";
import { openDispatchFixture, type Boot, type DispatchFixture } from "../../kit/dispatch.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

const question = (id: string) =>
  boot.outbox.deliver({
    replyKey: `approval:${id}`,
    to: peer("1"),
    blocks: [{ kind: "notice", markdown: `The agent wants to run ${id}`, because: "approval" }],
    buttons: [{ label: "Once", command: `/approve ${id} once` }],
  });

it("a question that a killed gateway left says that its command was not run, and has no buttons", async () => {
  await question("one");
  await until(() => fixture.platform.messages.length === 1);
  const next = await fixture.boot();
  await next.recover();
  await until(() => fixture.platform.messages[0]!.edits.length === 1);
  expect(fixture.platform.texts).toEqual([expect.stringContaining("restarted before anybody answered")]);
  const later = await fixture.boot();
  await later.recover();
  expect(fixture.platform.messages[0]!.edits).toHaveLength(1);
});

it("one that was not sent before the kill is not asked any more", async () => {
  fixture.isLinked = false;
  await boot.journal.outbox.plan({
    replyKey: "approval:two",
    to: peer("1"),
    parts: [{ kind: "text", body: "wants to run two", format: "plain", plain: "wants to run two" }],
  });
  fixture.isLinked = true;
  const next = await fixture.boot();
  await next.recover();
  expect(await next.journal.outbox.open()).toEqual([]);
  expect(fixture.platform.texts).toEqual([]);
});

it("one that a kill interrupted while it was sent still has its buttons, so that a press learns that it is over", async () => {
  const buttons = [{ label: "Once", command: "/approve three once" }];
  const parts = [{ kind: "text", body: "wants to run three", format: "plain", plain: "wants to run three" }] as const;
  const [row] = await boot.journal.outbox.plan({ replyKey: "approval:three", to: peer("1"), parts, buttons });
  await boot.journal.outbox.mark(row!.id, { state: "sending" });
  const next = await fixture.boot();
  await next.recover();
  const { outbox } = next.journal;
  expect(await outbox.open()).toEqual([]);
  expect(await outbox.chatsOf(peer("1"), "m9", "/approve three once")).toEqual([peer("1")]);
  expect(await outbox.chatsOf(peer("1"), "m9", "/approve three always")).toEqual([]);
});
