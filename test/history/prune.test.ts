import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyCuts, PRUNE_DEFAULTS, prune, type Pruned } from "../../src/history/prune.ts";
import { PruneMemory } from "../../src/history/prune-memory.ts";
import type { ChatMessage, ToolResultMessage } from "../../src/types/run/model.ts";
import type { PruneRules } from "../../src/types/settings.ts";
import { answered, asked, called, given } from "../kit/transcript-messages.ts";

const rules: PruneRules = {
  ...PRUNE_DEFAULTS,
  keepLastAssistants: 1,
  minPrunableToolChars: 0,
  softTrim: { maxChars: 100, headChars: 10, tailChars: 5 },
};
const NEVER: Pruned = { touchedAt: 0, cuts: {} };
const LATER = 10_000_000;

const user = asked("go on");
const call = (id: string) => answered([called(id, "exec")], { stopReason: "toolUse" });
const result = (id: string, text: string, more: Partial<ToolResultMessage> = {}) =>
  given(id, text, { toolName: "exec", ...more });
const round = (id: string, text: string, more?: Partial<ToolResultMessage>) => [call(id), result(id, text, more)];
const shown = (messages: readonly ChatMessage[]) =>
  messages
    .flatMap((one) => (one.role === "toolResult" ? one.content : []))
    .map((part) => ("text" in part ? part.text : "image"));
const pruned = (messages: readonly ChatMessage[], contextWindow: number, given = rules) =>
  shown(prune({ messages, contextWindow, past: NEVER, now: LATER }, given).messages);

describe("pruning", () => {
  const long = `${"h".repeat(10)}${"x".repeat(380)}${"t".repeat(10)}`;
  const talk = [user, ...round("a", long), ...round("b", "short"), ...round("c", long)];

  it("leaves a context alone that fills little of the window", () => {
    expect(prune({ messages: talk, contextWindow: 10_000, past: NEVER, now: LATER }, rules).messages).toBe(talk);
  });

  it("keeps head and tail of long results, but of the last answers all", () => {
    expect(pruned(talk, 500)).toEqual([
      "hhhhhhhhhh\n...\nttttt\n\n[Tool result trimmed: kept first 10 chars and last 5 chars of 400 chars.]",
      "short",
      long,
    ]);
    expect(pruned(talk, 500, { ...rules, keepLastAssistants: 9 })).toEqual([long, "short", long]);
  });

  it("clears the oldest when that is not enough", () => {
    expect(pruned(talk, 200)).toEqual(["[compacted: tool output removed to free context]", "short", long]);
    expect(pruned(talk, 200, { ...rules, minPrunableToolChars: 1000 })[0]).toContain("trimmed");
    expect(pruned(talk, 200, { ...rules, hardClear: { enabled: false, placeholder: "" } })[0]).toContain("trimmed");
  });

  it("spares images, memory searches and what comes before the first user turn", () => {
    const spared = [
      ...round("0", long),
      user,
      ...round("a", long, { content: [{ type: "image", data: "AAAA", mimeType: "image/png" }] }),
      ...round("b", long, { toolName: "memory_search" }),
      ...round("c", long),
      call("d"),
    ];
    const [before, image, memory, trimmed] = pruned(spared, 200);
    expect([before, image, memory]).toEqual([long, "image", long]);
    expect(trimmed).not.toBe(long);
    expect(pruned(spared, 200, { ...rules, tools: { allow: ["GREP", "fi*"], deny: [] } })[3]).toBe(long);
  });

  it("tears no pair of surrogates", () => {
    const [text] = pruned([user, ...round("a", "😀".repeat(200)), call("b")], 300, {
      ...rules,
      softTrim: { maxChars: 100, headChars: 11, tailChars: 11 },
    });
    expect(text).toContain("trimmed");
    expect(text?.isWellFormed()).toBe(true);
  });

  it("changes nothing but results, and cuts alike until the provider's cache has forgotten", () => {
    const rounds = fc
      .array(fc.tuple(fc.nat(300), fc.boolean()), { maxLength: 20 })
      .map((sizes) =>
        sizes.flatMap(([size, asked], at) => [...(asked ? [user] : []), ...round(`${at}`, "y".repeat(size))]),
      );
    fc.assert(
      fc.property(rounds, rounds, fc.integer({ min: 50, max: 1000 }), (before, more, contextWindow) => {
        const messages = [user, ...before];
        const first = prune({ messages, contextWindow, past: NEVER, now: LATER }, rules);
        const longer = [...messages, user, ...more.map((one) => ({ ...one, timestamp: 9 }))];
        const soon = prune({ messages: longer, contextWindow, past: first.pruned, now: LATER + rules.ttlMs }, rules);
        expect(soon.messages.slice(0, messages.length)).toEqual(first.messages);
        expect(soon.messages.slice(messages.length)).toEqual(longer.slice(messages.length));
        const late = prune({ messages: longer, contextWindow, past: soon.pruned, now: LATER * 2 }, rules);
        expect(late.messages.map((one) => one.role)).toEqual(longer.map((one) => one.role));
        for (const [at, one] of late.messages.entries()) if (one.role !== "toolResult") expect(one).toBe(longer[at]);
        for (const key of Object.keys(first.pruned.cuts)) expect(late.pruned.cuts).toHaveProperty([key]);
      }),
    );
  });
});

describe("the memory of what was pruned", () => {
  const long = "x".repeat(400);
  const talk = [user, ...round("a", long), call("b"), call("c")];
  const at = (now: number, messages = talk) => ({ messages, contextWindow: 150, now });

  it("cuts the same results in the same way until the cache has forgotten, conversation by conversation", () => {
    const memory = new PruneMemory();
    const first = memory.prune("one", at(LATER), rules);
    expect(shown(first)).not.toEqual([long]);
    const more = [...talk, ...round("d", long), user, call("e")];
    const soon = memory.prune("one", at(LATER + 1, more), rules);
    expect(soon.slice(0, first.length)).toEqual(first);
    expect(shown(soon).at(-1)).toBe(long);
    const late = memory.prune("one", at(LATER * 3, more), rules);
    expect(shown(late).at(-1)).not.toBe(long);
    expect(applyCuts(more, memory.cutsOf("one"), rules)).toEqual(late);
    expect(memory.cutsOf("two")).toEqual({});
  });

  it("keeps the newest conversations only, and forgets on demand", () => {
    const memory = new PruneMemory(2);
    for (const id of ["one", "two", "one", "three"]) memory.prune(id, at(LATER), rules);
    expect(["one", "two", "three"].map((id) => Object.keys(memory.cutsOf(id)).length)).toEqual([1, 0, 1]);
    memory.forget("one");
    expect(memory.cutsOf("one")).toEqual({});
  });
});
