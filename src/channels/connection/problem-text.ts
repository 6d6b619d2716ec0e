interface Problem {
  readonly lastError?: string | null | undefined;
  readonly fix?: string | null | undefined;
}

/** The problem of an account and what a person can do about it, as one text; undefined without a problem. */
export function problemText({ lastError, fix }: Problem): string | undefined {
  if (lastError == null) return undefined;
  if (fix == null) return lastError;
  return `${/[.!?]$/.test(lastError) ? lastError : `${lastError}.`} ${fix}`;
}
