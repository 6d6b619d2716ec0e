import { expect, test } from "vitest";
import {
  choicesOf,
  wholeNumberIn,
  readSettings,
  SECTIONS,
  valueText,
} from "../../extensions/webchat/page/settings/settings.ts";

const read = (setting: object) => {
  const found = readSettings({ settings: { one: setting } }).get("one");
  if (found === undefined) throw new Error("it was not read");
  return found;
};

const textOf = (name: string) => {
  const found = SECTIONS.flatMap(({ rows }) => rows).find((row) => row.name === name);
  if (found === undefined) throw new Error(`the page does not show ${name}`);
  return found;
};

test("a setting is read with its source, its default and what it takes", () => {
  expect(read({ value: "steer", source: "session", default: "collect", choices: ["collect", "steer"] })).toEqual({
    value: "steer",
    isOwn: true,
    default: "collect",
    choices: ["collect", "steer"],
    range: undefined,
  });
  expect(read({ value: 0, source: "default", default: 0, range: [0, 9] })).toMatchObject({ value: 0, range: [0, 9] });
  expect(read({ value: null, source: "default", default: null })).toMatchObject({ value: null, isOwn: false });
  expect(readSettings(undefined).size).toBe(0);
});

test("a value that is no choice any more can still be seen", () => {
  const setting = read({ value: "gone/model", source: "session", default: "a/b", choices: ["a/b"] });
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
