import { delimiter } from "node:path";

const SECRET =
  /(?:^|_)(?:API_?)?KEY$|(?:^|_)(?:TOKEN|SECRET|PASSWD|PASSPHRASE|CREDENTIALS?|PAT|JWT|COOKIE|DSN)$|PASSWORD|^OPENCLAW_.*(?:TOKEN|SECRET|KEY)/i;

// An address with a password in it, as databases have; a proxy's is needed to get out at all.
const ADDRESS_WITH_PASSWORD = /^[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:[^/\s@]+@/i;
const isSecret = (name: string, value: string): boolean =>
  SECRET.test(name) || (ADDRESS_WITH_PASSWORD.test(value) && !/_proxy$/i.test(name));

// Files that a shell runs by itself, and the channel between this process and its parent.
const NOT_FOR_COMMANDS = new Set(["BASH_ENV", "ENV", "NODE_CHANNEL_FD", "NODE_CHANNEL_SERIALIZATION_MODE"]);

/** The environment of a command: this process's own without what looks like a secret. */
export function commandEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  pathPrepend: readonly string[],
): Record<string, string> {
  const kept = Object.entries(own).flatMap(([name, value]): [string, string][] =>
    value === undefined || isSecret(name, value) || NOT_FOR_COMMANDS.has(name) ? [] : [[name, value]],
  );
  const environment = Object.fromEntries(kept);
  const path = [...pathPrepend, environment["PATH"] ?? ""].filter((part) => part !== "").join(delimiter);
  return { ...environment, PATH: path, GIT_TERMINAL_PROMPT: "0" };
}
