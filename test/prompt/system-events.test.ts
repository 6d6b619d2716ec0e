import { expect, it } from "vitest";
import { SystemEventQueue } from "../../src/prompt/system-events.ts";
import { sessionKey } from "../../src/types/ids.ts";

const key = sessionKey("telegram:default:1");

it("gives events once, oldest first, without repeats in a row", () => {
  const queue = new SystemEventQueue(() => 5);
  for (const text of ["a", "a ", "", "b", "a"]) {
    queue.enqueue(key, text);
  }
  expect(queue.drain(key)).toEqual(["a", "b", "a"].map((text) => ({ at: 5, text })));
  expect(queue.drain(key)).toEqual([]);
});

it("keeps the newest twenty of a session", () => {
  const queue = new SystemEventQueue();
  for (let index = 0; index < 50; index += 1) {
    queue.enqueue(key, `event ${index}`);
  }
  const texts = queue.drain(key).map((event) => event.text);
  expect(texts).toHaveLength(20);
  expect(texts[0]).toBe("event 30");
});

it("forgets the sessions that had no news for longest", () => {
  const queue = new SystemEventQueue();
  queue.enqueue(key, "old");
  for (let index = 0; index < 1000; index += 1) {
    queue.enqueue(sessionKey(`s${index}`), "x");
  }
  expect(queue.drain(key)).toEqual([]);
  expect(queue.drain(sessionKey("s999"))).toHaveLength(1);
});
