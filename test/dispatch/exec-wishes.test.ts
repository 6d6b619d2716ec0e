import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openDispatchFixture, type Boot, type DispatchFixture } from "../kit/dispatch.ts";
import { peer } from "../kit/inbound.ts";
import { toolSet } from "../kit/tools.ts";
import type { Acting } from "../../src/types/run/principal.ts";

let fixture: DispatchFixture;
let boot: Boot;
let acting: Acting[];
beforeEach(async () => {
  acting = [];
  fixture = await openDispatchFixture();
  fixture.model.answer(() => ({ text: "an answer" }));
  fixture.allTools = () => (_agent, who) => {
    acting.push(who);
    return toolSet([]);
  };
  fixture.rules = { isOwner: ({ sender }) => sender.id !== "77", mayElevate: ({ sender }) => sender.id !== "77" };
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

const told = () => fixture.platform.texts.at(-1);
const asked = () => JSON.stringify(fixture.model.calls.at(-1)?.messages);
const from = { ...peer("7"), chat: { kind: "group", id: "7", title: "Friends" } } as const;
const guestSays = async (text: string) => boot.outcome(await boot.tell(text, "7", { from, sender: { id: "77" } }));
const ownerSays = async (text: string) => boot.outcome(await boot.tell(text, "7", { from, sender: { id: "42" } }));

describe("/elevated", () => {
  it("holds from the next turn on, also after a restart, until it is set again", async () => {
    await boot.ask("hello");
    expect(acting.at(-1)?.elevated).toBe("request");
    await boot.ask("/elevated full");
    expect(told()).toContain("Elevated: full.");
    await boot.stop();
    boot = await fixture.boot();
    await boot.ask("again");
    expect(acting.at(-1)?.elevated).toBe("full");
    await boot.ask("/elevated off");
    await boot.ask("again");
    expect(acting.at(-1)?.elevated).toBe("off");
    await boot.ask("/elevated default");
    expect(told()).toContain("Elevated: not set.");
  });

  it("has the level of the config where the conversation sets none, for those alone who may set it", async () => {
    fixture.rules = { ...fixture.rules, agent: { elevated: "full" } };
    await ownerSays("hello");
    expect(acting.at(-1)?.elevated).toBe("full");
    await ownerSays("/elevated");
    expect(told()).toContain("Elevated: full (as configured).");
    await guestSays("hello");
    expect(acting.at(-1)?.elevated).toBeUndefined();
    await ownerSays("/elevated off");
    await ownerSays("again");
    expect(acting.at(-1)?.elevated).toBe("off");
    await ownerSays("/elevated default");
    await ownerSays("again");
    expect(acting.at(-1)?.elevated).toBe("full");
  });

  it("in a message holds for it alone", async () => {
    await boot.ask("do it /elevated on please");
    expect(acting.at(-1)?.elevated).toBe("on");
    expect(asked()).not.toContain("/elevated");
    await boot.ask("more");
    expect(acting.at(-1)?.elevated).toBe("request");
  });

  it("is refused to whoever may not, and what others set holds for no turn of theirs", async () => {
    await guestSays("/elevated full");
    expect(told()).toContain("tools.elevated");
    await ownerSays("/elevated full");
    await guestSays("do it /elevated on please");
    expect(acting.at(-1)?.elevated).toBeUndefined();
    expect(asked()).toContain("/elevated on");
    await ownerSays("and now");
    expect(acting.at(-1)?.elevated).toBe("full");
  });

  it("does not hold for a turn that also has a message of somebody who may not", async () => {
    await ownerSays("/elevated full");
    fixture.rules = { ...fixture.rules, inboundDebounceMs: () => 40 };
    const first = await boot.tell("first", "7", { from, sender: { id: "42" } });
    const second = await boot.tell("second", "7", { from, sender: { id: "77" } });
    await Promise.all([boot.outcome(first), boot.outcome(second)]);
    const withBoth = acting.filter((_one, at) => at > 0 || acting.length === 1);
    expect(withBoth.at(-1)?.elevated).toBeUndefined();
  });
});

describe("/exec", () => {
  it("makes commands of the conversation stricter, shows what holds and why, and is forgotten on demand", async () => {
    await boot.ask("/exec");
    expect(told()).toContain("(as configured)");
    await boot.ask("/exec host=sandbox ask=always");
    expect(told()).toMatch(/host: sandbox \(set here\)[^]*ask: always \(set here\)/);
    await boot.ask("hello");
    expect(acting.at(-1)?.exec).toEqual({ host: "sandbox", ask: "always" });
    await boot.ask("hello /exec ask=off security=deny there");
    expect(acting.at(-1)?.exec).toEqual({ host: "sandbox", ask: "always", security: "deny" });
    await boot.ask("/exec default");
    await boot.ask("hello");
    expect(acting.at(-1)?.exec).toBeUndefined();
  });

  it.each([
    ["host=gateway", "/elevated"],
    ["host=node", "no other machine"],
    ["node=laptop", "no other machine"],
    ["ask=sometimes", "always, on-miss, off"],
    ["nonsense", "no setting"],
  ])("refuses %s, and changes nothing", async (words, why) => {
    await boot.ask(`/exec security=deny`);
    await boot.ask(`/exec ${words}`);
    expect(told()).toContain(why);
    await boot.ask("hello");
    expect(acting.at(-1)?.exec).toEqual({ security: "deny" });
  });

  it("is an owner's", async () => {
    await ownerSays("/exec security=deny");
    await guestSays("/exec default");
    expect(told()).toContain("commands.ownerAllowFrom");
    await guestSays("hello");
    expect(acting.at(-1)?.exec).toEqual({ security: "deny" });
  });
});
