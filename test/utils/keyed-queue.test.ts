import { describe, expect, it } from "vitest";
import { KeyedQueue, Slots } from "../../src/utils/keyed-queue.ts";

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

describe("slots", () => {
  /** Tasks that end when they are told to, the names of those that have begun, and their limit. */
  function ground(limit: number) {
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const now = { limit };
    const slots = new Slots(() => now.limit);
    const add = (name: string) =>
      void slots.use(() => {
        begun.push(name);
        return new Promise<void>((resolve) => ends.set(name, resolve));
      });
    const end = async (name: string) => {
      ends.get(name)?.();
      await settled();
    };
    return { begun, now, add, end };
  }
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

  it("are given in the order in which tasks came, also when the limit has been raised", async () => {
    const { begun, now, add, end } = ground(1);
    for (const name of "abc") add(name);
    expect(begun).toEqual(["a"]);
    now.limit = 3;
    add("d");
    await settled();
    expect(begun).toEqual(["a", "b", "c"]);
    await end("b");
    expect(begun).toEqual(["a", "b", "c", "d"]);
  });

  it("are given to as many as a raised limit allows when a task ends", async () => {
    const { begun, now, add, end } = ground(1);
    for (const name of "abcd") add(name);
    now.limit = 3;
    await end("a");
    expect(begun).toEqual(["a", "b", "c", "d"]);
  });

  it("are fewer as soon as tasks end under a lowered limit", async () => {
    const { begun, now, add, end } = ground(3);
    for (const name of "abcdef") add(name);
    now.limit = 1;
    await end("a");
    await end("b");
    expect(begun).toEqual(["a", "b", "c"]);
    await end("c");
    expect(begun).toEqual(["a", "b", "c", "d"]);
  });

  it("are free again after a task that fails", async () => {
    const slots = new Slots(() => 1);
    await expect(slots.use(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await slots.use(async () => "yes")).toBe("yes");
  });
});
