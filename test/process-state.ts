// Files of tests share processes: each leaves the process as it found it.
import { afterAll, beforeAll, expect } from "vitest";

const NAMES = /^(?:OPENCLAW_|CLAWDBOT_|AWS_|XDG_|npm_|NODE_OPTIONS$|HOME$|PATH$|TZ$)/;

const stateOfProcess = () => ({
  umask: process.umask().toString(8),
  folder: process.cwd(),
  env: Object.fromEntries(Object.entries(process.env).filter(([name]) => NAMES.test(name))),
});

let before: ReturnType<typeof stateOfProcess> | undefined;
beforeAll(() => {
  before = stateOfProcess();
});
// Hooks of the file itself run before this one.
afterAll(() => {
  expect(stateOfProcess()).toEqual(before);
});
