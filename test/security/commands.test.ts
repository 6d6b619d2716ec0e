import { afterEach, beforeEach, describe, expect, it } from "vitest";
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
  return place.hall.platform.texts.at(-1) ?? "";
}
const CHANGES = ["/new", "/reset", "/think high", "/model fake/fake-1", "/model default", "/compact", "/new hello"];

describe("a command that changes a conversation", () => {
  it.each(CHANGES)("is refused to a member of a group who is no owner: %s", async (text) => {
    await told(place.member, "hi");
    const calls = place.hall.model.calls.length;
    expect(await told(place.member, text)).toContain("Only an owner may use /");
    expect(place.hall.model.calls).toHaveLength(calls);
  });

  it("is an owner's in a group, and anybody's in their own direct chat", async () => {
    expect(await told(place.member, "/think")).toContain("Thinking level: as configured");
    expect(await told(place.guest, "/think high")).toContain("Thinking level: high");
    expect(await told(place.ownerInGroup, "/think high")).toContain("Thinking level: high");
    expect(await told(place.member, "/think")).toContain("Thinking level: high");
    expect(await told(place.guest, "/model fake/fake-1@other")).toContain("Only an owner may choose the key");
  });

  it("is a member's whom the config names", async () => {
    place.hall.rules = { ...place.hall.rules, mayCommand: ({ sender }) => sender.id === "44" };
    expect(await told(place.member, "/think high")).toContain("Thinking level: high");
  });

  it("is an owner's where all direct chats are one conversation", async () => {
    place.hall.rules = { ...place.hall.rules, keyFor: () => sessionKey("main") };
    expect(await told(place.guest, "/new")).toContain("Only an owner may use /new");
    expect(await told(place.guest, "/status")).not.toContain("Only an owner");
  });
});
