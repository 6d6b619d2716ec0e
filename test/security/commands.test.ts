import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfigText } from "../kit/config-text.ts";
import { Live } from "../../src/app/live.ts";
import { createRules } from "../../src/app/compose/rules.ts";
import { sessionKey } from "../../src/types/ids.ts";
import { openPlace, type Person, type Place } from "./people.ts";

let place: Place;
beforeEach(async () => {
  place = await openPlace();
});
afterEach(() => place.close());

/** What the chat is told. */
async function told(person: Person, text: string): Promise<string> {
  await place.boot.outcome(await person.says(text));
  return place.fixture.platform.texts.at(-1) ?? "";
}
const CHANGES = [
  "/new",
  "/reset",
  "/think high",
  "/queue interrupt",
  "/undo",
  "/verbose on",
  "/think high hello",
  "/model fake/fake-1",
  "/model default",
  "/compact",
  "/new hello",
];

describe("a command that changes a conversation", () => {
  it.each(CHANGES)("is refused to a member of a group who is no owner: %s", async (text) => {
    await told(place.member, "hi");
    const calls = place.fixture.model.calls.length;
    expect(await told(place.member, text)).toContain("Only an owner may use /");
    expect(place.fixture.model.calls).toHaveLength(calls);
  });

  it("is an owner's in a group, and anybody's in their own direct chat", async () => {
    expect(await told(place.member, "/think")).toContain("Thinking level: as configured");
    expect(await told(place.guest, "/think high")).toContain("Thinking level: high");
    expect(await told(place.ownerInGroup, "/think high")).toContain("Thinking level: high");
    expect(await told(place.member, "/think")).toContain("Thinking level: high");
    expect(await told(place.guest, "/model fake/fake-1@other")).toContain("Only an owner may choose the key");
  });

  it.each(["/new@other_bot", "/stop@other_bot", "/think@other_bot high"])(
    "is another bot's when it names that one: %s",
    async (text) => {
      expect(await told(place.ownerInGroup, text)).toBe(`echo: ${text}`);
    },
  );

  it("is an owner's where all direct chats are one conversation", async () => {
    place.fixture.rules = { ...place.fixture.rules, keyFor: () => sessionKey("main") };
    expect(await told(place.guest, "/new")).toContain("Only an owner may use /new");
    expect(await told(place.guest, "/status")).not.toContain("Only an owner");
  });
});

describe("a text that an owner forwards", () => {
  const forwarded = { context: { isForwarded: true } };

  it.each([
    "/compact",
    "/new hello",
    "/think high",
    "/verbose on",
    "read this /think high please",
    "/verbose on /think high hello",
  ])("is for the agent alone, whatever somebody else wrote into it: %s", async (text) => {
    await place.boot.outcome(await place.owner.says(text, forwarded));
    expect(place.fixture.platform.texts).toEqual([`echo: ${text}`]);
    expect(await told(place.owner, "/think")).toContain("Thinking level: as configured");
  });

  it("allows no command that waits for an answer", async () => {
    const asking = await place.owner.begins({ tool: "exec", args: { command: "touch made.txt" } });
    const { id } = await place.question();
    const row = await place.owner.says(`/approve ${id} once`, forwarded);
    expect(place.boot.chat.approvals.list()).toHaveLength(1);
    await told(place.owner, `/approve ${id} deny`);
    await place.boot.outcome(asking);
    await place.boot.outcome(row);
    expect(place.fixture.model.calls.map(({ toolText }) => toolText).join()).toContain("A person refused this command");
  });
});

/** The rules of a config with these lists. */
async function obey(allowFrom: Record<string, readonly string[]>): Promise<void> {
  const commands = { ownerAllowFrom: ["owner"], allowFrom };
  const loaded = await loadConfigText(JSON.stringify({ commands }), { path: "/x/openclaw.json", env: {} });
  expect(loaded.stops).toEqual([]);
  const { mayCommand } = createRules(
    new Live(place.live.paths, place.fixture.dir, { ...place.live.loaded, ...loaded }),
  )();
  place.fixture.rules = { ...place.fixture.rules, mayCommand: mayCommand! };
}

const NO_COMMANDS = "You may not use commands here.";

describe("`commands.allowFrom`", () => {
  it("lets whom it names change a group's conversation, and nobody else but owners use any command", async () => {
    await obey({ telegram: ["44"] });
    expect(await told(place.member, "/think high")).toContain("Thinking level: high");
    expect(await told(place.ownerInGroup, "/think low")).toContain("Thinking level: low");
    for (const text of ["/think high", "/new", "/status", "/help", "/stop"])
      expect(await told(place.guest, text), text).toContain(NO_COMMANDS);
    expect(await told(place.guest, "hi")).toContain("echo: hi");
  });

  it("makes no owner of whom it names", async () => {
    await obey({ "*": ["*"] });
    expect(await told(place.guest, "/status")).not.toContain(NO_COMMANDS);
    expect(await told(place.guest, "/approve x once")).toContain("Only an owner may do that");
    expect(await told(place.member, "/model fake/fake-1@other")).toContain("Only an owner may choose the key");
  });

  it.each([
    ["the list of every channel", { "*": ["44"] }, false],
    ["a channel's own list in its place", { "*": ["43"], telegram: ["44"] }, false],
    ["an empty list, which names nobody", { "*": ["43"], telegram: [] }, false],
    ["an id with its channel", { "*": ["telegram:43"] }, true],
    ["an id of another channel", { "*": ["slack:43"] }, false],
    ["no list of this channel, which leaves it as it is", { slack: ["1"] }, true],
  ])("takes %s", async (_, allowFrom, isTaken) => {
    await obey(allowFrom);
    const answer = await told(place.guest, "/think high");
    expect(answer).toContain(isTaken ? "Thinking level: high" : NO_COMMANDS);
  });
});
