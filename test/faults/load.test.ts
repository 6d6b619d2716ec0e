import { expect, test } from "vitest";
import { runLoad } from "./load.ts";

test("300 messages in 30 chats of three channels, with faults: nothing lost, doubled without its label, or out of order", async () => {
  const report = await runLoad({ messages: 300, chats: 30, faultShare: 0.05, seed: 7, underway: 40 });
  expect(report).toMatchObject({ lost: [], doubled: [], outOfOrder: [], unsettled: 0 });
  const { limited, broken, dropped, lost, cut } = report.faults;
  expect(limited + broken + dropped + lost).toBeGreaterThan(5);
  expect(cut).toBe(1);
}, 60_000);
