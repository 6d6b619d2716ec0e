import { closeSync, readdirSync, readFileSync } from "node:fs";
import process from "node:process";

/**
 * Flag of a descriptor that no other program inherits (`O_CLOEXEC`). Node opens all of its own descriptors with this
 * flag.
 */
const KEPT = 0o2000000;
/** The last of the descriptors for input, output and errors. */
const STANDARD = 2;

/**
 * Closes the descriptors that the program that started this one left open: each command of an agent would have them,
 * too. Linux only; elsewhere the gateway cannot know them. To be called before anything is opened that a child process
 * is to inherit.
 */
export function closeInherited(): void {
  if (process.platform !== "linux") return;
  for (const name of readdirSync("/proc/self/fd")) {
    const descriptor = Number(name);
    if (descriptor > STANDARD && isInherited(name)) closeSync(descriptor);
  }
}

function isInherited(name: string): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, "utf8"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & KEPT) === 0;
  } catch {
    // The descriptor is closed already: it was the one with which the directory was read.
    return false;
  }
}
