import { delimiter } from "node:path";

const SECRET =
  /(?:^|_)(?:API_?KEY|ACCESS_KEY|PRIVATE_KEY|AUTH_KEY|TOKEN|SECRET|SECRET_KEY|PASSWD|PASSPHRASE|CREDENTIALS?)$|PASSWORD|^OPENCLAW_.*(?:TOKEN|SECRET|KEY)/i;

// Files that a shell runs by itself, and the channel between this process and its parent.
const NOT_FOR_COMMANDS = new Set(["BASH_ENV", "ENV", "NODE_CHANNEL_FD", "NODE_CHANNEL_SERIALIZATION_MODE"]);

/** The environment of a command: this process's own without what looks like a secret. */
export function commandEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  pathPrepend: readonly string[],
): Record<string, string> {
  const kept = Object.entries(own).flatMap(([name, value]): [string, string][] =>
    value === undefined || SECRET.test(name) || NOT_FOR_COMMANDS.has(name) ? [] : [[name, value]],
  );
  const environment = Object.fromEntries(kept);
  const path = [...pathPrepend, environment["PATH"] ?? ""].filter((part) => part !== "").join(delimiter);
  return { ...environment, PATH: path, GIT_TERMINAL_PROMPT: "0" };
}
