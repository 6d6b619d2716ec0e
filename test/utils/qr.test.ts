import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { qrRows } from "../../src/utils/text/qr.ts";

const textOf = (length: number) =>
  Array.from({ length }, (_, at) => "ABCDEFxyz0123,/+=@"[(at * 7 + length) % 18]).join("");
const printOf = (text: string) => createHash("sha256").update(qrRows(text).join("\n")).digest("hex").slice(0, 12);

test("the smallest code, cell by cell", () => {
  expect(qrRows("hi")).toMatchInlineSnapshot(`
    [
      "111111100100101111111",
      "100000101001001000001",
      "101110100100001011101",
      "101110101001001011101",
      "101110100011101011101",
      "100000101110101000001",
      "111111101010101111111",
      "000000000011100000000",
      "111110111100110101010",
      "101001000010100100001",
      "010001110011010011110",
      "111101010000000110100",
      "101011100101010010101",
      "000000001011111001001",
      "111111101000101100010",
      "100000100111111001001",
      "101110101010100100100",
      "101110101100100100100",
      "101110101001010011100",
      "100000101100000110100",
      "111111101111010011110",
    ]
  `);
});

// Each was read back by jsQR 1.4.0, a decoder of others.
test.each([
  [1, 21, "addf4b82066f"],
  [17, 21, "f26ba256c207"],
  [78, 33, "fe8ca4c135f0"],
  [154, 45, "04ec8b18bfca"],
  [231, 57, "4c6954199d65"],
  [367, 65, "dd97339ebac3"],
  [520, 77, "0f673692a056"],
  [644, 85, "aae8a4caa4f4"],
  [858, 97, "a6c8433fa79c"],
])("%i bytes make %i rows that another program reads", (length, size, print) => {
  expect(qrRows(textOf(length))).toHaveLength(size);
  expect(printOf(textOf(length))).toBe(print);
});

test("text that is too long is refused", () => {
  expect(() => qrRows("x".repeat(859))).toThrow(RangeError);
});
