import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readDailyNotes } from "../../src/prompt/startup-notes.ts";

const LIMITS = { applyOn: ["new"], days: 3, maxFileBytes: 1000, maxFileChars: 100, maxTotalChars: 150 } as const;
const today = { now: Date.UTC(2026, 9, 25, 22, 30), timezone: "Europe/Vienna" };

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "notes-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

test("the notes of the last days are those of the calendar, also around a day of 25 hours", async () => {
  const dir = folder();
  mkdirSync(join(dir, "memory"));
  for (const day of ["22", "23", "24", "25", "26"])
    writeFileSync(join(dir, "memory", `2026-10-${day}.md`), `day ${day}\n`);
  const notes = await readDailyNotes(dir, LIMITS, today);
  expect(notes).toEqual(["25", "24", "23"].map((day) => ({ path: `memory/2026-10-${day}.md`, text: `day ${day}` })));
});

test("notes are shortened, and one that is too large is named", async () => {
  const dir = folder();
  mkdirSync(join(dir, "memory"));
  writeFileSync(join(dir, "memory/2026-10-25.md"), "a".repeat(500));
  writeFileSync(join(dir, "memory/2026-10-24.md"), "b".repeat(1001));
  const [first, second] = await readDailyNotes(dir, LIMITS, today);
  expect(first?.text).toMatch(/^a{70}\n\n\[\.\.\. content truncated \.\.\.\]\n\na{20}$/);
  expect(second?.path).toBe("memory/2026-10-24.md");
  expect(second?.text).not.toContain("b");
  const [alone] = await readDailyNotes(dir, { ...LIMITS, maxFileBytes: 2000, maxTotalChars: 10, days: 1 }, today);
  expect(alone?.text).toMatch(/^a{7}\n[^]*\na{2}$/);
});

test("links are not followed, and missing folders are no error", async () => {
  const dir = folder();
  expect(await readDailyNotes(dir, LIMITS, today)).toEqual([]);
  mkdirSync(join(dir, "elsewhere"));
  writeFileSync(join(dir, "elsewhere/2026-10-25.md"), "secret");
  symlinkSync(join(dir, "elsewhere"), join(dir, "memory"));
  expect(await readDailyNotes(dir, LIMITS, today)).toEqual([]);
  rmSync(join(dir, "memory"));
  mkdirSync(join(dir, "memory"));
  symlinkSync(join(dir, "elsewhere/2026-10-25.md"), join(dir, "memory/2026-10-25.md"));
  expect(await readDailyNotes(dir, LIMITS, today)).toEqual([]);
});
