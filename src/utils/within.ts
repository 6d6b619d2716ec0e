interface Timer {
  after(ms: number, call: () => void): () => void;
}

/** Waits for work, but no longer than `ms`. False when it was not done by then; rejects when the work does before. */
export async function within(work: Promise<unknown>, ms: number, timer: Timer): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const cancel = timer.after(ms, () => late.resolve(false));
  try {
    return await Promise.race([work.then(() => true as const), late.promise]);
  } finally {
    cancel();
  }
}

/**
 * As `within`, for code of plugins and hooks, which may go on after the time. `failed` gets an error that comes after it.
 */
export async function withinTold(
  work: Promise<unknown>,
  ms: number,
  timer: Timer,
  failed: (error: unknown) => void,
): Promise<boolean> {
  const isDone = await within(work, ms, timer);
  if (!isDone) work.catch(failed);
  return isDone;
}
