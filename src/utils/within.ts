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
 * The same for code of others, which goes on after the time: `failed` is called with an error that comes only then.
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
