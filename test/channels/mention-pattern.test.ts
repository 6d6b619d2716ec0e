import { Script } from "node:vm";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { MentionPattern, mentionPatterns } from "../../src/channels/access/mention-pattern.ts";

const ENDLESS = ["(a+)+$", "(a|aa)+$", "([a-z]+\\s?)*!$", "^(\\w+\\s*)+\\.$", "(.*a){12}$", "((a+)\\2?)+$"];
const ATTACK = `${"a".repeat(60)}\n?`;

/** The searches with a timeout, which costs a hundred times as much as a search. */
function watchSearches() {
  const searches = vi.spyOn(Script.prototype, "runInContext");
  onTestFinished(() => searches.mockRestore());
  return searches;
}

describe("a mention pattern", () => {
  it.each([
    ["\\bclaw\\b", "hey Claw!", "clawed"],
    ["\\@clawd", "hey @CLAWD", "clawd"],
    ["[\\w-.]+bot", "my-claw.bot", "nobody"],
    ["^\\p{Lu}laus", "Klaus?", "laus"],
    ["(?:hey|hi),?\\s+(?:claw|bot)+", "Hi,  bot", "hi"],
  ])("%s is found in any case and at any position", (source, named, other) => {
    const pattern = new MentionPattern(source);
    for (const _ of [1, 2]) {
      expect(pattern.isIn(named)).toBe(true);
      expect(pattern.isIn(`${"so much to say ".repeat(500)}\n${named}`)).toBe(!source.startsWith("^"));
      expect(pattern.isIn(other)).toBe(false);
    }
    expect(pattern.wasStopped).toBe(false);
  });

  it.each(ENDLESS)("%s is stopped and switched off for a while, whatever the text", (source) => {
    const pattern = new MentionPattern(source);
    const searches = watchSearches();
    expect(pattern.isIn(ATTACK)).toBe(false);
    expect(pattern.wasStopped).toBe(true);
    searches.mockClear();
    for (let at = 0; at < 100; at += 1) expect(pattern.isIn(ATTACK)).toBe(false);
    expect(searches).not.toHaveBeenCalled();
  });

  it("is searched again when other programs kept the search waiting", () => {
    const pattern = new MentionPattern("(?:hey|hi),?\\s+(?:claw|bot)+");
    const searches = watchSearches();
    searches.mockImplementationOnce(() => {
      throw Object.assign(new Error("Script execution timed out"), { code: "ERR_SCRIPT_EXECUTION_TIMEOUT" });
    });
    expect(pattern.isIn("Hi,  bot")).toBe(true);
    expect(pattern.wasStopped).toBe(false);
  });

  it("that is simple searches a usual message without a timeout", () => {
    const [pattern] = mentionPatterns(["@?claw[\\w-]*"]);
    const text = "what would you say to that? ".repeat(30);
    const searches = watchSearches();
    expect(pattern?.isIn(text)).toBe(false);
    expect(searches).not.toHaveBeenCalled();
  });

  it("is compiled once per list", () => {
    const sources = ["claw"];
    expect(mentionPatterns(sources)).toBe(mentionPatterns(sources));
  });
});
