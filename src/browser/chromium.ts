import { access, constants, mkdir, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { isFields } from "../utils/fields.ts";
import { isMissing } from "../utils/missing.ts";

/** Browsers that Playwright can drive, in the order of preference. */
const NAMES = [
  "chromium",
  "chromium-browser",
  "google-chrome",
  "google-chrome-stable",
  "brave-browser",
  "microsoft-edge",
];
const MAC = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Brave Browser.app/Contents/MacOS/Brave Browser",
];

/**
 * The browser's program: the program of the config, else the first one of the machine. Undefined when there is none.
 */
export async function findBrowser(
  named: string | undefined,
  { PATH = "" }: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> {
  const all =
    named === undefined
      ? [...PATH.split(delimiter).flatMap((dir) => NAMES.map((name) => join(dir, name))), ...MAC]
      : [named];
  for (const file of all) if (await isProgram(file)) return file;
  return undefined;
}

const isProgram = (file: string): Promise<boolean> =>
  access(file, constants.X_OK).then(
    () => true,
    () => false,
  );

/** Arguments of the browser, besides Playwright's own. */
export const BROWSER_ARGUMENTS: readonly string[] = [
  // The proxy gets addresses of this machine too, and refuses these.
  "--proxy-bypass-list=<-loopback>",
  "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
  "--disable-gpu",
];

/**
 * Makes the folder of a profile. Removes the lock of a browser that no longer runs: Chromium would refuse to start, or give its window to a
 * process that does not exist.
 */
export async function openProfile(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await keepPdfs(folder);
  const lock = join(folder, "SingletonLock");
  const owner = await readlink(lock).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  // `host-pid`
  const pid = Number(owner?.split("-").at(-1));
  if (owner === undefined || (Number.isInteger(pid) && isRunning(pid))) return;
  for (const name of ["SingletonLock", "SingletonSocket", "SingletonCookie"])
    await rm(join(folder, name), { force: true });
}

/** The browser's own viewer shows PDF files in a way that no snapshot sees: they are downloaded instead. */
async function keepPdfs(folder: string): Promise<void> {
  const file = join(folder, "Default", "Preferences");
  const known = await readPreferences(file);
  const plugins = isFields(known["plugins"]) ? known["plugins"] : {};
  if (plugins["always_open_pdf_externally"] === true) return;
  await mkdir(join(folder, "Default"), { recursive: true, mode: 0o700 });
  const content = { ...known, plugins: { ...plugins, always_open_pdf_externally: true } };
  await writeFile(file, JSON.stringify(content), { mode: 0o600 });
}

/** Preferences of a profile; empty where they cannot be read, since the browser itself begins anew then. */
async function readPreferences(file: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    const read: unknown = JSON.parse(await readFile(file, "utf8"));
    return isFields(read) ? read : {};
  } catch (error) {
    if (isMissing(error) || error instanceof SyntaxError) return {};
    throw error;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    // No such process, or one of somebody else: Chromium says so itself.
    return false;
  }
}
