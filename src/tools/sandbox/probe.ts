import { spawn } from "node:child_process";
import { access, constants, readFile, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import type { Launch } from "../../types/run/backend.ts";
import type { Unusable } from "../../types/sandbox-engine.ts";
import { errorText } from "../../utils/text/error-text.ts";

/** The absolute path of a program on `PATH`; undefined when there is none. */
export async function programOnPath(
  name: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> {
  const dirs = (env["PATH"] ?? "").split(delimiter).filter((dir) => isAbsolute(dir));
  const paths = isAbsolute(name) ? [name] : dirs.map((dir) => join(dir, name));
  for (const path of paths) if (await isProgram(path)) return path;
  return undefined;
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    // The program is missing, or this user may not run it.
    return false;
  }
}

const MOST_MS = 10_000;
const MOST_CHARS = 2000;

/** Runs a program to its end, or for ten seconds; `text` is its output, cut to `mostChars`. Never rejects. */
export function runBriefly(
  { argv: [program, ...args], cwd, env }: Launch,
  mostChars = MOST_CHARS,
): Promise<{ code: number; text: string }> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd,
      env: { PATH: "/usr/bin:/bin", ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: MOST_MS,
      killSignal: "SIGKILL",
    });
    let text = "";
    const take = (chunk: Buffer) => {
      text = (text + chunk.toString("utf8")).slice(0, mostChars);
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    child.once("error", (error) => resolve({ code: -1, text: errorText(error) }));
    child.once("close", (code) => resolve({ code: code ?? -1, text: text.trim() }));
  });
}

/** Settings of the kernel that forbid namespaces of users, each with the line that permits them. */
const SWITCHES: readonly { path: string; forbids: string; why: string; fix: string }[] = [
  {
    path: "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    forbids: "1",
    why: "AppArmor lets only listed programs make user namespaces",
    fix:
      "Give bubblewrap a profile: printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile bwrap /usr/bin/bwrap flags=(unconfined) {\\n  userns,\\n}\\n' | " +
      "sudo tee /etc/apparmor.d/bwrap && sudo systemctl reload apparmor, then restart the gateway.",
  },
  {
    path: "/proc/sys/kernel/unprivileged_userns_clone",
    forbids: "0",
    why: "the kernel lets only root make user namespaces",
    fix: "Run: sudo sysctl -w kernel.unprivileged_userns_clone=1 (and put it into /etc/sysctl.d), then restart the gateway.",
  },
  {
    path: "/proc/sys/user/max_user_namespaces",
    forbids: "0",
    why: "the kernel permits no user namespaces",
    fix: "Run: sudo sysctl -w user.max_user_namespaces=10000 (and put it into /etc/sysctl.d), then restart the gateway.",
  },
];

/** Reason why `bwrap` could not start a program, from the kernel's settings and the output. */
export async function whyBwrapFails(
  said: string,
  read: (path: string) => Promise<string> = (path) => readFile(path, "utf8"),
): Promise<Unusable> {
  for (const { path, forbids, why, fix } of SWITCHES) {
    const value = await read(path).catch(() => "");
    if (value.trim() === forbids) return { ok: false, why: `${why} (${path} is ${forbids})`, fix };
  }
  const line = said.split("\n").at(-1) ?? "";
  if (/namespace|uid map|Operation not permitted|Permission denied/i.test(said)) {
    return {
      ok: false,
      why: `this system lets bubblewrap make no namespaces, as is usual in a container (${line})`,
      fix: "Let the container make user namespaces, such as with docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined, or set agents.defaults.sandbox.mode to off.",
    };
  }
  return {
    ok: false,
    why: `bubblewrap failed: ${line}`,
    fix: "Run bwrap --ro-bind / / true to see the cause, or set agents.defaults.sandbox.mode to off.",
  };
}
