import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { AsyncQueue } from "../../src/utils/async-queue.ts";
import { Feed, KeyedFeed } from "../../src/utils/feed.ts";

async function readAll<T>(values: AsyncIterable<T>): Promise<T[]> {
  const read: T[] = [];
  for await (const value of values) read.push(value);
  return read;
}

describe("a feed", () => {
  it("gives every watcher all that is published after it began, each at its own pace", async () => {
    const feed = new Feed<number>();
    const early = feed.watch();
    feed.publish(1);
    const late = feed.watch();
    feed.publish(2);
    expect(await early.next()).toEqual({ done: false, value: 1 });
    feed.publish(3);
    feed.close();
    feed.publish(4);
    expect(await readAll(early)).toEqual([2, 3]);
    expect(await readAll(late)).toEqual([2, 3]);
  });

  it("ends a watcher when its signal aborts, at once when it was aborted before", async () => {
    const feed = new Feed<number>();
    const stop = new AbortController();
    const watching = readAll(feed.watch(stop.signal));
    feed.publish(1);
    stop.abort();
    feed.publish(2);
    expect(await watching).toEqual([1]);
    expect(await readAll(feed.watch(stop.signal))).toEqual([]);
  });

  it("leaves nothing on a signal that outlives its watchers", async () => {
    const feed = new Feed<number>();
    const { signal } = new AbortController();
    for (let watcher = 0; watcher < 20; watcher += 1) {
      const watching = feed.watch(signal);
      feed.publish(watcher);
      for await (const value of watching) if (value === watcher) break;
    }
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

describe("a queue", () => {
  it("gives what it holds before it ends, and nothing that came after", async () => {
    const queue = new AsyncQueue<string>();
    queue.push("a");
    queue.end();
    queue.push("b");
    expect(await readAll(queue)).toEqual(["a"]);
  });

  it("resumes a reader that waits", async () => {
    const queue = new AsyncQueue<string>();
    const next = queue.next();
    queue.push("a");
    expect(await next).toEqual({ done: false, value: "a" });
    const last = queue.next();
    queue.end();
    expect(await last).toEqual({ done: true, value: undefined });
  });
});

describe("a feed with keys", () => {
  it("gives each watcher what is published under its key, until its signal aborts", async () => {
    const feed = new KeyedFeed<number, string>();
    const [one, other] = [new AbortController(), new AbortController()];
    feed.publish(1, "before");
    const first = readAll(feed.watch(1, one.signal));
    const second = readAll(feed.watch(1, other.signal));
    const third = readAll(feed.watch(2, one.signal));
    feed.publish(1, "a");
    feed.publish(2, "b");
    one.abort();
    feed.publish(1, "c");
    other.abort();
    feed.publish(1, "after");
    expect(await Promise.all([first, second, third])).toEqual([["a"], ["a", "c"], ["b"]]);
    expect(await readAll(feed.watch(1, one.signal))).toEqual([]);
  });
});
