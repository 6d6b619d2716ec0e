import { openBudgets } from "../../../src/providers/budget/budgets.ts";
import { budgetsConfig } from "../../../src/providers/budget/config.ts";
import { openJournal } from "../../../src/store/journal/journal.ts";
import { sessionKey } from "../../../src/types/ids.ts";
import { emptyUsage } from "../../../src/types/run/usage.ts";
import { recordLog } from "../../kit/log.ts";

/** Makes two calls, and kills itself at a step of the second one: `caller.ts <journal> <capped|free> <step>`. */
const [, , path = "", limits, wanted] = process.argv;
const at = (step: string): void => {
  if (step === wanted) process.kill(process.pid, "SIGKILL");
};
const journal = await openJournal({ path, bootId: "killed", sync: "full" });
const config = budgetsConfig.parse({ timezone: "UTC", ...(limits === "capped" && { day: { tokens: 1000 } }) });
const clock = { now: () => Date.UTC(2026, 10, 27, 12) };
const { meter } = openBudgets({ ledger: journal.spend, clock, log: recordLog(), config: () => config });
const call = () =>
  meter.reserve({
    cause: "message",
    sessionKey: sessionKey("telegram:default:1"),
    model: { provider: "fake", id: "fake-1" },
    profileId: "fake:default",
    estimatedInputTokens: 10,
    highestCost: 0,
    most: { inputTokens: 10, outputTokens: 50, leastOutputTokens: 5, price: { input: 0.001, output: 0.001 } },
  });
const cost = {
  outcome: "answered",
  usage: { ...emptyUsage(), input: 8, output: 4, totalTokens: 12 },
  isEstimate: false,
} as const;
const first = await call();
if (first.kind === "allowed") first.settle(cost);
await meter.flushed();
at("before");
const reserving = call();
at("reserving");
const second = await reserving;
at("reserved");
await journal.spend.held();
at("held");
if (second.kind === "allowed") second.settle(cost);
at("settling");
await meter.flushed();
at("settled");
await journal.close();
at("closed");
