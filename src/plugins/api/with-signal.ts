/** Aborts when either does. `given`: a plugin's value, which can only add to the signal, never replace it. */
export const withSignal = (signal: AbortSignal, given: unknown): AbortSignal =>
  given instanceof AbortSignal ? AbortSignal.any([signal, given]) : signal;
