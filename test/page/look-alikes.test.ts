import { expect, test } from "vitest";
import { lookAlikeWords } from "../../extensions/webchat/page/policy/look-alikes.ts";

const numbered = (letter: string): string =>
  `${letter} (U+${letter.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")})`;

test.each([
  ["curl https://раypal.com", ["р", "а"]],
  ["curl https://bank.сом/x", ["с", "о", "м"]],
  ["rм -rf build", ["м"]],
  ["/usr/bіn/ls", ["і"]],
  ["npm install lоdash", ["о"]],
  ["git push оrigin", ["о"]],
  ["ssh root@exаmple.org", ["а"]],
  ["echo Αlpha", ["Α"]],
  ["cat ｐasswd", ["ｐ"]],
  ["𝗋𝗆 -rf x", ["𝗋", "𝗆"]],
  ["ⓡm x", ["ⓡ"]],
  ["ɡit status", ["ɡ"]],
  ["раypal раypal", ["р", "а"]],
])("%j has letters that look like Latin ones", (text, letters) => {
  expect(lookAlikeWords(text)).toBe(`Contains letters that look like Latin ones: ${letters.map(numbered).join(", ")}`);
});

test.each([
  "rm -rf build && git push origin main",
  "cat отчёт.pdf",
  "echo привет, мир",
  "echo 'Это мой файл' > /tmp/файл.txt",
  "echo Καλημέρα κόσμε",
  "grep -r größe src/",
  "echo ça va, señor, işık",
  "echo 你好，世界！（x）：1",
  "ls ~/Документы",
  "cp Отчёт_2026.docx /srv",
  "awk '{ print $1 }' a.txt",
  "5 µm, 3 m², 20 °C, №5",
  "日本語のファイル.md",
  "",
])("%j has none", (text) => {
  expect(lookAlikeWords(text)).toBeUndefined();
});

test("only some of many letters are named", () => {
  expect(lookAlikeWords("a авеѕіјкмнорс")).toBeUndefined();
  expect(lookAlikeWords("aавеѕіјкмнорс")).toMatch(/: а \(U\+0430\), .*, …$/);
});

test.each(["a", "а", "a а ", "a/", ".", "аa"])("a command of 200,000 characters of %j is read at once", (part) => {
  expect((lookAlikeWords(part.repeat(200_000 / part.length)) ?? "").length).toBeLessThan(60);
});
