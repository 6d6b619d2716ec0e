import { afterEach, beforeEach, expect, it } from "vitest";
import type { ApprovalDecision } from "../../src/types/run/tool.ts";
import { textResult } from "../../src/tools/define.ts";
import { makeTool } from "../kit/tools.ts";
import { eventsOf, openRunFixture, type RunFixture } from "../kit/run.ts";

let fixture: RunFixture;
beforeEach(async () => {
  fixture = await openRunFixture();
});
afterEach(() => fixture.close());

/** A tool that asks a person and then never ends. */
const asking = (began: () => void) =>
  makeTool(
    "ask",
    async (_input, { approvals, signal }) => {
      const answer = await approvals.ask({ command: "c", cwd: "/", reason: "r" }, signal);
      began();
      return answer === "allow-once" ? new Promise<never>(() => undefined) : textResult(answer);
    },
    true,
  );

/** A run that is left where it is, as by a kill; what the next one over the same transcript is told of the call. */
async function toldAfterKill(answer: ApprovalDecision | undefined): Promise<string> {
  fixture.model.answer((call) => (call.isAfterTool ? { text: "ok" } : { tool: "ask", args: {} }));
  const asked = Promise.withResolvers<void>();
  const began = Promise.withResolvers<void>();
  const approvals = {
    async ask() {
      asked.resolve();
      return answer ?? new Promise<never>(() => undefined);
    },
  };
  const killed = fixture.start({ tools: [asking(began.resolve)], approvals });
  await asked.promise;
  if (answer !== undefined) await began.promise;
  await eventsOf(fixture.start({ tools: [asking(() => undefined)] }).stream);
  const told = fixture.model.calls.at(-1)?.toolText ?? "";
  killed.abort("user");
  await killed.stream.done;
  return told;
}

it("a call that waited for a person when the gateway was killed is known not to have been run", async () => {
  expect(await toldAfterKill(undefined)).toContain("This call was not run");
});

it("of a call that was allowed before the kill it is not known", async () => {
  expect(await toldAfterKill("allow-once")).toContain("whether it took effect is not known");
});
