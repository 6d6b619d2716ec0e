interface Problem {
  readonly lastError?: string | null | undefined;
  readonly fix?: string | null | undefined;
}

/** The problem of an account and the step that a person can take, as one text; undefined without a problem. */
export function problemText({ lastError, fix }: Problem): string | undefined {
  if (lastError == null) return undefined;
  if (fix == null) return lastError;
  return `${/[.!?]$/.test(lastError) ? lastError : `${lastError}.`} ${fix}`;
}
