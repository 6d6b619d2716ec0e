import { expect, test } from "vitest";
import { background } from "../../src/utils/background.ts";
import { listen } from "../fakes/log.ts";
import { until } from "../outbox/stage.ts";

test("work that nobody waits for tells the log of its failure", async () => {
  const log = listen();
  background("a walk", Promise.reject(new Error("rain")), log);
  await until(() => log.lines.length > 0);
  expect(log.lines).toEqual(["error background work failed: rain"]);
});
