import { expect, test } from "vitest";
import { choicesOf, wholeNumberIn, SECTIONS, valueText } from "../../extensions/webchat/page/settings/settings.ts";

const textOf = (name: string) => {
  const found = SECTIONS.flatMap(({ rows }) => rows).find((row) => row.name === name);
  if (found === undefined) throw new Error(`the page does not show ${name}`);
  return found;
};

test("a value that is no choice any more can still be seen", () => {
  const setting = { value: "gone/model", source: "session", default: "a/b", choices: ["a/b"] } as const;
  expect(choicesOf(setting)).toEqual(["gone/model", "a/b"]);
});

test("people read what a value means, also one that the page does not know", () => {
  expect(valueText("mention", textOf("groupActivation"))).toBe("mention: messages that address the agent");
  expect(valueText("new-mode", textOf("queueMode"))).toBe("new-mode");
  expect(valueText(null, textOf("groupActivation"))).toBe("depends on the message");
});

test("only whole numbers are taken from a field", () => {
  expect([" 20 ", "0", "2.5", "-1", "x", ""].map(wholeNumberIn)).toEqual([
    20,
    0,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
