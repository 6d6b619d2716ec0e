import { beforeAll, expect, test } from "vitest";
import { useTexts } from "../../extensions/webchat/page/words/words.ts";
import { IMPORT_KINDS } from "../../src/app/import/kinds.ts";
import { noticeFor } from "../../src/dispatch/notices/chat-texts.ts";
import { ModelWatch } from "../../src/harness/failover/model-watch.ts";
import { POLICY } from "../../src/harness/failover/policy.ts";
import { CRON_DELIVERIES, CRON_STATUSES } from "../../src/types/cron/run.ts";
import { type Failure, FAILURE_KINDS } from "../../src/types/run/run.ts";

// The texts are read when the modules are loaded.
const load = async () => ({
  ...(await import("../../extensions/webchat/page/components/turns/run-words.ts")),
  ...(await import("../../extensions/webchat/page/model/format.ts")),
  ...(await import("../../extensions/webchat/page/model/transcript.ts")),
  ...(await import("../../extensions/webchat/page/words/gateway-sentences.ts")),
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

/** English words of which every sentence of the gateway has one, and no German one. */
const ENGLISH = /\b(?:the|this|it|is|was|and|or|its|pixels|tokens|of|run:|set)\b/i;

test("what the gateway says of a failed run is in the person's language, for each kind of failure", () => {
  const message = "400 image exceeds 5 MB maximum";
  const most = { limitTokens: 1000, requestedTokens: 2000 };
  const variants: readonly Partial<Failure>[] = [
    { message: "broken" },
    { message },
    { message: "400 image dimensions exceed max allowed size: 8000 pixels" },
    { message, isAlone: true, requestBytes: 5000 },
    { message, requestBytes: 5000 },
    { message, ...most },
    { message, ...most, isAlone: true },
    { message, limitTokens: 1000 },
    { message, requestedTokens: 2000, isAlone: true },
  ];
  const failures = FAILURE_KINDS.flatMap((kind) => variants.map((more): Failure => ({ message: "", ...more, kind })));
  const notices = failures.map((failure) => noticeFor({ kind: "failed", failure }, { isOperator: true }) ?? "");
  const late = noticeFor({ kind: "aborted", by: "timeout" }, { isOperator: true }) ?? "";
  const words = [...notices, late].map((notice) => page.gatewayText(notice).replace(/ sagte: .*/, ""));
  expect(words.filter((text) => ENGLISH.test(text))).toEqual([]);
  expect(page.gatewayText("⚠️ The model declined to answer.")).toBe("⚠️ Das Modell hat es abgelehnt zu antworten.");
});

test("who answers in place of whom, and why, is in the person's language for each kind of failure", async () => {
  const [wanted, other] = [
    { provider: "fake", id: "one" },
    { provider: "fake", id: "two" },
  ];
  const conversation = {
    append: async () => "id",
    after: async () => [],
    window: async () => ({ messages: [], estimatedTokens: 0, older: false }),
    leafId: null,
  };
  const changeAfter = async (kind: Failure["kind"] | undefined) => {
    const watch = new ModelWatch(conversation, undefined);
    if (kind) watch.failed(wanted, kind);
    await watch.asks(other, undefined);
    return watch.change([wanted, other], [])?.text ?? "";
  };
  const said = await Promise.all([undefined, ...FAILURE_KINDS].map(changeAfter));
  expect(said.map(page.gatewayText).filter((text) => text === "" || ENGLISH.test(text))).toEqual([]);
  expect(page.gatewayText("↩️ Answered by fake/one again.")).toBe("↩️ Es antwortet wieder fake/one.");
});

test("only what the gateway itself says is put into the person's language", () => {
  const content = [{ type: "text", text: "⚠️ The model declined to answer." }];
  const shown = (model: string) =>
    page.withNewest(page.NOTHING_READ, { messages: [{ role: "assistant", content, model }] }).turns[0]?.parts;
  expect(shown("gateway-injected")).toEqual([{ kind: "text", text: "⚠️ Das Modell hat es abgelehnt zu antworten." }]);
  expect(shown("fake-1")).toEqual([{ kind: "text", text: content[0]?.text }]);
  expect(page.gatewayText("Who knows?")).toBe("Who knows?");
});

test("what an import takes, and each state of a job's run and of its answer, has words in the person's language", () => {
  const same = IMPORT_KINDS.map(({ title }) => title.toLowerCase()).filter(
    (title) => page.gatewayText(title) === title,
  );
  expect(same).toEqual([]);
  expect(CRON_STATUSES.filter((status) => page.jobStatusText(status) === status)).toEqual([]);
  expect(CRON_DELIVERIES.filter((delivery) => page.jobDeliveryText(delivery) === delivery)).toEqual([]);
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
