import { afterEach, beforeEach, expect, it } from "vitest";
import { makeTool } from "../../kit/tools.ts";
import { until } from "../../kit/until.ts";
import { openDispatchFixture, type Boot, type DispatchFixture } from "../../kit/dispatch.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

it("a tool over which the gateway has ended twice is not run a third time, and the message is answered", async () => {
  let ran = 0;
  const never = new Promise<never>(() => undefined);
  const deadly = makeTool("deadly", async () => {
    ran += 1;
    return never;
  });
  fixture.tools.push(deadly);
  fixture.model.answer((call) =>
    call.toolText.includes("is not run again") ? { text: "answered without it" } : { tool: "deadly", args: {} },
  );
  const row = await boot.tell("do it");
  for (const count of [1, 2]) {
    await until(() => ran === count);
    // The process is gone in the middle of the call, and another one starts.
    boot = await fixture.boot();
    await boot.recover();
  }
  expect(await boot.outcome(row)).toEqual({ kind: "replied" });
  expect(fixture.platform.texts.at(-1)).toBe("answered without it");
  expect(ran).toBe(2);
});
