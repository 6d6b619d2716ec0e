import { beforeAll, expect, test } from "vitest";
import { useTexts } from "../../extensions/webchat/page/words/words.ts";
import { POLICY } from "../../src/harness/failover/policy.ts";
import { FAILURE_KINDS } from "../../src/types/run/run.ts";

// The texts are read when the modules are loaded.
const load = async () => ({
  ...(await import("../../extensions/webchat/page/components/turns/run-words.ts")),
  ...(await import("../../extensions/webchat/page/model/format.ts")),
});
let page: Awaited<ReturnType<typeof load>>;
beforeAll(async () => {
  await useTexts("de");
  page = await load();
});

test("each failure and each act after one has words in the person's language", () => {
  const acts = [...new Set(Object.values(POLICY).flatMap((rows) => rows.map(([remedy]) => remedy)))];
  expect(FAILURE_KINDS.filter((kind) => page.outcomeText(kind) === kind)).toEqual([]);
  expect(acts.filter((act) => page.remedyText(act) === act.replaceAll("_", " "))).toEqual([]);
  expect(page.outcomeText("replied")).toBe("mit einer Antwort");
  expect(page.outcomeText("failed:timeout")).toBe("fehlgeschlagen: keine Antwort in der Zeit");
  expect(page.triggerText("message")).toBe("eine Nachricht");
  expect(page.thinkingText("off")).toBe("aus");
});

test("a value that the page does not know is shown as it is", () => {
  expect(page.outcomeText("failed:something_new")).toBe("fehlgeschlagen: something_new");
  expect(page.remedyText("pray_more")).toBe("pray more");
  expect(page.triggerText("constructor")).toBe("constructor");
  expect(page.thinkingText("ultra")).toBe("ultra");
});

test("money, days and spans are written as the language writes them", () => {
  expect(page.dollars(0.0002)?.replace("\u00A0", " ")).toBe("0,0002 $");
  expect(page.money(1200).replace("\u00A0", " ")).toBe("1.200,00 $");
  expect(page.dollars(0)).toBeUndefined();
  expect(page.seconds(200)).toBe("0,2 s");
  expect(page.dayText("2026-11-30")).toBe("30.11.2026");
  expect(page.dayText(new Date(2026, 10, 30, 12).getTime())).toBe(page.dayText("2026-11-30"));
  expect(page.dayText("some day")).toBe("some day");
});
