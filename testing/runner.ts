import type { afterEach, describe, expect, test } from "vitest";

/** The functions of Vitest that a suite uses: pass the functions that your test file imports. */
export interface TestRunner {
  readonly afterEach: typeof afterEach;
  readonly describe: typeof describe;
  readonly expect: typeof expect;
  readonly test: typeof test;
}
