import { wireKey } from "../../src/sessions/keys.ts";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { sessionKey } from "../../src/types/ids.ts";
import { type DispatchFixture, openDispatchFixture } from "../kit/dispatch.ts";
import { nextMessage } from "../kit/inbound.ts";
import { PATIENCE } from "../kit/until.ts";

const KEYS = [sessionKey("telegram:default:one"), sessionKey("telegram:default:two")] as const;

let fixture: DispatchFixture;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  fixture.rules = { broadcast: () => ({ strategy: "parallel", keys: KEYS }) };
});
afterEach(() => fixture.close());

const outcomes = async (boot: Awaited<ReturnType<DispatchFixture["boot"]>>) => {
  const rows = await boot.journal.messages.inboxRows(20);
  return rows.map(({ sessionKey: key, outcome }) => [key, outcome?.kind]).toReversed();
};

test("a message for several agents becomes a turn in the session of each, and ends as part of the first", async () => {
  const boot = await fixture.boot();
  const row = await boot.tell("hello", "1");
  await vi.waitFor(
    async () => expect((await outcomes(boot)).every(([, kind]) => kind !== undefined)).toBe(true),
    PATIENCE,
  );
  expect(await outcomes(boot)).toEqual([
    [undefined, "merged"],
    [KEYS[0], "replied"],
    [KEYS[1], "replied"],
  ]);
  expect(await boot.journal.messages.inboxRow(row.id)).toMatchObject({ outcome: { into: row.id + 1 } });
  // The outcome is recorded before the answer is sent.
  await vi.waitFor(() => expect(fixture.platform.texts).toEqual(["echo: hello", "echo: hello"]), PATIENCE);
});

test("a crash between the copies and the end of the message loses and doubles none", async () => {
  const message = nextMessage("hello", "1");
  const before = await fixture.journalFor("boot-0");
  const copy = { ...message, eventKey: `${message.eventKey}#to-${KEYS[0]}`, options: { sessionKey: KEYS[0] } };
  await before.inbox.accept([message, copy]);
  await before.close();
  const boot = await fixture.boot();
  await boot.recover();
  await vi.waitFor(async () => {
    const all = await outcomes(boot);
    expect(all.map(([, kind]) => kind)).toEqual(["merged", "replied", "replied"]);
  }, PATIENCE);
  expect(fixture.model.calls).toHaveLength(2);
});

test("a command is for the first agent, one that concerns each conversation for all, and an operator's message for none", async () => {
  const boot = await fixture.boot();
  await boot.ask("/status");
  await vi.waitFor(async () => expect(await outcomes(boot)).toHaveLength(2), PATIENCE);
  await boot.ask("/new");
  await vi.waitFor(async () => expect(await outcomes(boot)).toHaveLength(5), PATIENCE);
  await boot.tell("hello", "1", { options: { operator: true } });
  expect(await outcomes(boot)).toHaveLength(6);
  const shown = () => fixture.platform.texts.filter((text) => text.includes(`Session: ${wireKey(KEYS[0])}`));
  await vi.waitFor(() => expect(shown()).toHaveLength(1), PATIENCE);
});
