import { afterEach, beforeEach, expect, it } from "vitest";
import { makeTool } from "../../harness/stage.ts";
import { until } from "../../outbox/stage.ts";
import { openHall, type Boot, type Hall } from "../stage.ts";

let hall: Hall;
let boot: Boot;
beforeEach(async () => {
  hall = await openHall();
  boot = await hall.boot();
});
afterEach(() => hall.close());

it("a tool over which the gateway has ended twice is not run a third time, and the message is answered", async () => {
  let ran = 0;
  const never = new Promise<never>(() => undefined);
  const deadly = makeTool("deadly", async () => {
    ran += 1;
    return never;
  });
  hall.tools.push(deadly as never);
  hall.model.answer((call) =>
    call.toolText.includes("is not run again") ? { text: "answered without it" } : { tool: "deadly", args: {} },
  );
  const row = await boot.tell("do it");
  for (const count of [1, 2]) {
    await until(() => ran === count);
    // The process is gone in the middle of the call, and another one starts.
    boot = await hall.boot();
    await boot.recover();
  }
  expect(await boot.outcome(row)).toEqual({ kind: "replied" });
  expect(hall.platform.texts.at(-1)).toBe("answered without it");
  expect(ran).toBe(2);
});
