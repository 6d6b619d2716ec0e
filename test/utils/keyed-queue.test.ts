import { describe, expect, it } from "vitest";
import { KeyedQueue } from "../../src/utils/keyed-queue.ts";

describe("a keyed queue", () => {
  it("runs one key's tasks in order and other keys beside them", async () => {
    const queue = new KeyedQueue();
    const done: string[] = [];
    const gate = Promise.withResolvers<void>();
    const first = queue.run("a", async () => {
      await gate.promise;
      done.push("a1");
    });
    const second = queue.run("a", async () => void done.push("a2"));
    await queue.run("b", async () => void done.push("b1"));
    expect(done).toEqual(["b1"]);
    expect([queue.isBusy("a"), queue.isBusy("c")]).toEqual([true, false]);
    gate.resolve();
    await Promise.all([first, second]);
    expect(done).toEqual(["b1", "a1", "a2"]);
  });

  it("rejects as the task does and continues with the next", async () => {
    const queue = new KeyedQueue();
    const broken = queue.run("a", () => Promise.reject(new Error("no")));
    const next = queue.run("a", async () => "yes");
    await expect(broken).rejects.toThrow("no");
    expect(await next).toBe("yes");
  });

  it("is idle when everything is done, also what was added meanwhile", async () => {
    const queue = new KeyedQueue();
    let done = 0;
    void queue.run("a", async () => {
      void queue.run("a", async () => (done += 1));
      done += 1;
    });
    await queue.idle();
    expect(done).toBe(2);
    expect(queue.isBusy("a")).toBe(false);
  });
});
