import { expect, test } from "vitest";
import { loadedDiscord, loadedSignal, loadedSlack, loadedTelegram, loadedWhatsapp } from "./load-platforms.ts";
import { runLoad } from "./load.ts";

const platforms = [loadedTelegram, loadedSlack, loadedSignal, loadedDiscord, loadedWhatsapp];

test("400 messages in 50 chats of five channels, with faults: nothing lost, doubled without its label, or out of order", async () => {
  const report = await runLoad({ platforms, messages: 400, chats: 50, faultShare: 0.05, seed: 7, underway: 40 });
  expect(report).toMatchObject({ lost: [], doubled: [], outOfOrder: [], unsettled: 0 });
  const { limited, broken, dropped, lost, cut } = report.faults;
  expect(limited + broken + dropped + lost).toBeGreaterThan(5);
  expect(cut).toBe(2);
}, 240_000);
