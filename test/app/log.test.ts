import { stripVTControlCharacters } from "node:util";
import { expect, it } from "vitest";
import { humanLine } from "../../src/app/log/human.ts";

it.each(["\nfake", "\r12:00:00 info  forged", "\u001b]0;title\u0007", "\u009b2Jgone", "\u202eevil", "a\u2028b"])(
  "a line of the log stays one line that steers nothing, whatever strangers write: %j",
  (name) => {
    const line = stripVTControlCharacters(
      humanLine("info", "dropped", { sender: name, list: [name], error: new Error(`x${name}`) }),
    );
    expect(line.trimEnd()).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u);
    expect(line.endsWith("\n")).toBe(true);
  },
);
