import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { createDirectiveFilter, parseDirectives } from "../../src/reply/directives.ts";
import { createHeartbeatFilter, stripHeartbeatToken } from "../../src/reply/heartbeat-token.ts";
import { cutInto } from "./parts.ts";

describe("parseDirectives", () => {
  it.each([
    ["[[reply_to_current]] Hello", "Hello"],
    ["Hello [[reply_to_current]] world", "Hello world"],
    ["[[reply_to_current] Hello", "Hello"],
    ["[[ reply_to: 42 ] Hello", "Hello"],
    ["[[other] Hello", "[[other] Hello"],
    ["Hello\n[[ reply_to_current ]]\nworld", "Hello\nworld"],
    ["Hello\n\n[[reply_to_current]]\n\nworld", "Hello\n\nworld"],
    ["Hello [[reply_to_current]]\nworld", "Hello\nworld"],
    ["Hello[[reply_to_current]] world", "Hello world"],
    ["Hello [[reply_to_current]]", "Hello"],
    ["`[[reply_to_current]]` is a tag", "`[[reply_to_current]]` is a tag"],
    ["```\n[[reply_to_current]]\n```", "```\n[[reply_to_current]]\n```"],
    ["a [[wiki link]] and [[ -f x ]]", "a [[wiki link]] and [[ -f x ]]"],
    ["[[tts:calm]]Hello[[/tts]] world [[/tts:calm]]", "Hello world"],
    ["a [[/tmp/x]] and [[/ttsx]]", "a [[/tmp/x]] and [[/ttsx]]"],
    ["a [[media", "a"],
    ["a [[", "a [["],
  ])("%j is shown as %j", (text, shown) => {
    expect(parseDirectives(text).text).toBe(shown);
  });

  it("reads what is asked for", () => {
    expect(
      parseDirectives("[[reply_to: 42 ]] [[media:https://a.b/c d.png]]\n[[media: x.ogg]] [[Audio_As_Voice]] Hi"),
    ).toEqual({
      text: "Hi",
      replyTo: { kind: "id", id: "42" },
      media: ["https://a.b/c d.png", "x.ogg"],
      audioAsVoice: true,
      silent: false,
    });
    expect(parseDirectives("[[reply_to_current]]").replyTo).toEqual({ kind: "current" });
    expect(parseDirectives("[[tts]] Hi")).toMatchObject({ text: "Hi", spoken: "" });
    expect(parseDirectives("Hi [[tts:text]] Hello\n\nthere [[/tts:text]] Ada [[tts:text]]bye[[/tts]]")).toMatchObject({
      text: "Hi Ada",
      spoken: "Hello\n\nthere\n\nbye",
    });
    expect(parseDirectives("[[tts:text]]Only heard[[/tts:text]]")).toMatchObject({
      text: "Only heard",
      spoken: "Only heard",
      silent: false,
    });
    expect(parseDirectives("[[tts:text]]NO_REPLY[[/tts:text]] NO_REPLY")).toMatchObject({ text: "", silent: true });
    expect(parseDirectives("[[tts:text]]without an end")).toMatchObject({ text: "without an end", spoken: "" });
    expect(parseDirectives("stray [[/tts:text]] end")).toEqual({
      text: "stray end",
      media: [],
      audioAsVoice: false,
      silent: false,
    });
    expect(parseDirectives("plain")).toEqual({ text: "plain", media: [], audioAsVoice: false, silent: false });
  });

  it.each([
    ["NO_REPLY", "", true],
    [" \nNO_REPLY\n", "", true],
    ["[[reply_to_current]] NO_REPLY", "", true],
    ["Done.\n\nNO_REPLY", "Done.", false],
    ["**NO_REPLY**", "", true],
    ["`no_reply`.", "", true],
    ['"NO_REPLY"', "", true],
    ["_NO_REPLY_!", "", true],
    ["Done.\n\n*NO_REPLY*", "Done.", false],
    ["- NO_REPLY", "", true],
    ["* **NO_REPLY**", "", true],
    ["1. NO_REPLY", "", true],
    ["1 NO_REPLY", "1", false],
    ["- NO_REPLY\n- HEARTBEAT_OK", "- NO_REPLY\n- HEARTBEAT_OK", false],
    ["- one\n- two", "- one\n- two", false],
    ["12. of May", "12. of May", false],
    ["NO_REPLY!important", "NO_REPLY!important", false],
    ["**No**", "**No**", false],
    ["NO_REPLY is a token", "NO_REPLY is a token", false],
    ["NO_REPLY\n\nNothing new.", "Nothing new.", false],
    ["NO_REPLY\nNo news.", "No news.", false],
    ["`NO_REPLY`\n\nmeans silence.", "`NO_REPLY`\n\nmeans silence.", false],
    ["Nothing to add NO_REPLY", "Nothing to add", false],
    ["Nothing to add. **NO_REPLY**.", "Nothing to add.", false],
    ["It is called `NO_REPLY`", "It is called `NO_REPLY`", false],
    ["The address is no_reply", "The address is no_reply", false],
    ["NO_REPLY NO_REPLY", "", true],
    ["NO_REPLY\nno_reply.", "", true],
    ["NO_REPLYNO_REPLY", "", true],
    ["Done.\nNO_REPLY NO_REPLY\nNO_REPLY", "Done.", false],
    ["NO_REPLY\u200B", "", true],
    ["```\nNO_REPLY\n```", "", true],
    ["```text\nNO_REPLY", "", true],
    ["```\nNO_REPLY\n```\nis code", "```\nNO_REPLY\n```\nis code", false],
    ["```sh\nls\n```\nNO_REPLY", "```sh\nls\n```", false],
    ["```\n```", "```\n```", false],
    ["> NO_REPLY", "", true],
    ["Tokens:\n- NO_REPLY\n- token: NO_REPLY", "Tokens:\n- NO_REPLY\n- token: NO_REPLY", false],
    ["Look:\n> NO_REPLY", "Look:\n> NO_REPLY", false],
    ["NO_REPL", "NO_REPL", false],
    ['{"action":"NO_REPLY"}', "", true],
    ['[[reply_to_current]] { "action" : "no_reply" }\n', "", true],
    ['```json\n{\n  "action": "NO_REPLY"\n}\n```', "", true],
    ['{"action":"NO_REPLY"} it is', '{"action":"NO_REPLY"} it is', false],
    ['Say {"action":"NO_REPLY"}', 'Say {"action":"NO_REPLY"}', false],
    ['{"action":"NO_REPLY"', '{"action":"NO_REPLY"', false],
    ['{"action":"REPLY"}', '{"action":"REPLY"}', false],
    ['{"act[[reply_to_current]]ion":"NO_REPLY"}', '{"action":"NO_REPLY"}', false],
    ["", "", false],
  ])("takes %j as %j, silent %j", (text, shown, silent) => {
    expect(parseDirectives(text)).toMatchObject({ text: shown, silent });
  });
});

describe("createDirectiveFilter", () => {
  it("never lets part of a directive or of the silent token out", () => {
    const filter = createDirectiveFilter();
    expect(filter.push("Hi [[rep")).toBe("Hi");
    expect(filter.push("ly_to:7]]")).toBe("");
    expect(filter.push(" there")).toBe(" there");
    expect(filter.directives().replyTo).toEqual({ kind: "id", id: "7" });

    const silent = createDirectiveFilter();
    expect(silent.push("NO_") + silent.push("REPLY")).toBe("");
    expect(silent.push("\n") + silent.end()).toBe("");
    expect(silent.directives().silent).toBe(true);

    const spoken = createDirectiveFilter();
    expect(spoken.push("NO")).toBe("");
    expect(spoken.push(" way")).toBe("NO way");
  });

  const words = fc.constantFrom(
    ...'[[reply_to_current]]|[[media:x.png]]|[[reply_to:|7]]|[[tts:text]]|[[/tts:text]]|[[audio_as_voice]]|[[|]]|[|]|NO_REPLY|**|no|.|NO_|REPLY|-|*|1|1.| |  |a|word|Done.|No_REPLY|>|:|`|```|```js|\n|\n\n|\r|\u2028|{|"action"|:|"NO_REPLY"|}|[[reply_to_current|audio_as_voice]'.split(
      "|",
    ),
  );
  it("gives what parseDirectives gives, however the text is cut", () => {
    fc.assert(
      fc.property(fc.array(words, { maxLength: 20 }), fc.array(fc.nat(120)), (list, cuts) => {
        const text = list.join("");
        const whole = parseDirectives(text);
        for (const parts of [cutInto(text, cuts), [...text]]) {
          const filter = createDirectiveFilter();
          const shown = parts.map((part) => filter.push(part)).join("") + filter.end();
          expect({ text: shown, ...filter.directives() }).toEqual(whole);
        }
        expect(whole.text).toBe(whole.text.trim());
      }),
      { numRuns: 3000, examples: [[["[[reply_to:", "no", "\n", "]", "[[reply_to_current]]"], []]] },
    );
  });

  it("leaves other text as it is, but for blanks at its ends", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(!text.includes("[["));
        expect(parseDirectives(text).text).toBe(text.trim());
      }),
    );
  });
});

describe("stripHeartbeatToken", () => {
  it.each([
    ["HEARTBEAT_OK", "", true, true],
    ["**HEARTBEAT_OK**", "", true, true],
    ["<b>HEARTBEAT_OK</b>", "", true, true],
    ["HEARTBEAT_OK.", "", true, true],
    ["All quiet. HEARTBEAT_OK", "All quiet.", true, true],
    ["HEARTBEAT_OK all quiet", "all quiet", true, true],
    [`HEARTBEAT_OK ${"x".repeat(301)}`, "x".repeat(301), true, false],
    [`HEARTBEAT_OK ${"x".repeat(300)}`, "x".repeat(300), true, true],
    ["Answer HEARTBEAT_OK when quiet", "Answer HEARTBEAT_OK when quiet", false, false],
    ["HEARTBEAT_OKAY", "HEARTBEAT_OKAY", false, false],
    ["HEARTBEAT_OK\n\n**Note**: the disk is full", "**Note**: the disk is full", true, true],
    ["All quiet. <b>HEARTBEAT_OK</b>", "All quiet.", true, true],
    ["**\nHEARTBEAT_OK\n**", "", true, true],
    ["", "", false, false],
  ])("%j leaves %j (stripped %j, silent %j)", (text, rest, stripped, silent) => {
    expect(stripHeartbeatToken(text)).toEqual({ text: rest, stripped, silent });
  });

  it("obeys another limit", () => {
    expect(stripHeartbeatToken("HEARTBEAT_OK done", 3).silent).toBe(false);
  });
});

describe("createHeartbeatFilter", () => {
  it("holds back what may become the token, and shows other text at once", () => {
    const filter = createHeartbeatFilter();
    expect(filter.push("**HEART") + filter.push("BEAT_OK** ")).toBe("");
    expect(filter.push("The disk is fu")).toBe("The disk is fu");
    expect(filter.push("ll. _HEARTBEAT")).toBe("ll.");
    expect(filter.push("_OK_") + filter.end()).toBe("");
    const closed = createHeartbeatFilter();
    expect(closed.push("</b>HEARTBEAT_OK_") + closed.end()).toBe("");
  });

  const words = fc.constantFrom(
    ..."HEARTBEAT_OK|HEART|BEAT_OK|heartbeat_ok|HEARTBEAT_|OK|*|**|_|`|<b>|</b>|<|b>| |\n|.|!|a|x_|Hello|oh".split("|"),
  );
  it("gives what stripHeartbeatToken leaves, however the text is cut", () => {
    fc.assert(
      fc.property(fc.array(words, { maxLength: 16 }), fc.array(fc.nat(120)), (list, cuts) => {
        const text = list.join("").trim();
        for (const parts of [cutInto(text, cuts), [...text]]) {
          const filter = createHeartbeatFilter();
          const shown = parts.map((part) => filter.push(part)).join("") + filter.end();
          expect(shown).toBe(stripHeartbeatToken(text).text);
        }
      }),
      { numRuns: 3000 },
    );
  });
});
