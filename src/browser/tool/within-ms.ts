/** Result of code in a page. Rejects when the code takes longer: a page whose code does not end can only be closed. */
export async function withinMs<T>(work: Promise<T>, ms: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`Timeout ${ms}ms exceeded`)), ms);
  // Nobody waits for a result that comes too late.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
