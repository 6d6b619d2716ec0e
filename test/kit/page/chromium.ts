import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function findChromium(env: NodeJS.ProcessEnv): string | undefined {
  const { OPENCLAW_CHROMIUM: named, PATH = "" } = env;
  if (named) return named;
  return PATH.split(delimiter)
    .flatMap((dir) => NAMES.map((name) => join(dir, name)))
    .find(isProgram);
}

const found = findChromium(process.env);

/** The browser of the tests: `OPENCLAW_CHROMIUM`, or what the PATH has. */
export const CHROMIUM = found ?? "chromium";
/** Whether it is there. In CI, and where `OPENCLAW_CHROMIUM` names one, it always is: what cannot start then fails its tests. */
export const hasChromium = found !== undefined || Boolean(process.env["CI"]);

if (!hasChromium)
  console.log(
    "no test runs in a browser: there is no chromium on the PATH; install it, or name one in OPENCLAW_CHROMIUM",
  );
