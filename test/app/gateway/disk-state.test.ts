import { expect, test } from "vitest";
import { DiskState } from "../../../src/app/gateway/disk/disk-state.ts";
import { diskFull } from "../../../src/store/disk.ts";
import type { OpenClawError } from "../../../src/types/errors.ts";
import { recordLog } from "../../kit/log.ts";
import { manualClock } from "../../kit/clock.ts";

const FULL = diskFull("/state", new Error("ENOSPC"));

function stage() {
  const clock = manualClock();
  const log = recordLog();
  const found: { error: OpenClawError | undefined } = { error: undefined };
  return { clock, log, found, disk: new DiskState({ probe: async () => found.error, log, clock }) };
}

test("a failed write is reported with its fix until the disk takes writes and a waiting turn had time to try", async () => {
  const { clock, log, disk } = stage();
  expect([disk.takesWrites, disk.problem]).toEqual([true, undefined]);
  disk.refused(FULL);
  disk.refused(FULL);
  expect(disk.takesWrites).toBe(false);
  expect(disk.problem).toMatch(
    /^Messages wait for the disk: No space left on the disk of \/state\. Free some space\. A running gateway then continues/,
  );
  clock.pass(4999);
  await disk.look();
  expect(disk.takesWrites).toBe(false);
  clock.pass(1);
  await disk.look();
  expect([disk.takesWrites, disk.problem]).toEqual([true, undefined]);
  expect(log.lines).toEqual([`error the disk takes no writes: ${FULL.message}`, "info the disk takes writes again"]);
});

test("a probe that fails begins it without any message, and keeps it on", async () => {
  const { clock, found, disk } = stage();
  found.error = FULL;
  await disk.look();
  clock.pass(60_000);
  await disk.look();
  expect(disk.takesWrites).toBe(false);
});

test("an error of another kind says nothing of the disk", () => {
  const { disk } = stage();
  disk.refused(new Error("403: bot was blocked by the user"));
  expect(disk.takesWrites).toBe(true);
});
