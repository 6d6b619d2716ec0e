/** Checks a condition once per turn of the event loop until it holds. Rejects after `ms` milliseconds, with `what` in the message. */
export async function until(holds: () => unknown, what = "this", ms = 20_000): Promise<void> {
  const end = Date.now() + ms;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`waited ${ms} ms for ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
