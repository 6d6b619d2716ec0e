import { expect, test } from "vitest";
import { background } from "../../src/utils/background.ts";
import { recordLog } from "../kit/log.ts";
import { until } from "../kit/until.ts";

test("work that nobody waits for logs its failure", async () => {
  const log = recordLog();
  background("a walk", Promise.reject(new Error("rain")), log);
  await until(() => log.lines.length > 0);
  expect(log.lines).toEqual(["error background work failed: rain"]);
});
