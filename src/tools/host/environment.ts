import { delimiter } from "node:path";
import type { ExecSettings } from "../../types/settings.ts";
import { MAX_VARIABLE_BYTES, NEVER, NO_OVERRIDE } from "../variables.ts";
import { Secret } from "../../utils/secrets/secret.ts";

type Environment = Readonly<Record<string, string | undefined>>;
type EnvironmentRules = Pick<ExecSettings, "pathPrepend" | "passEnv" | "secretVariables">;

/** Variables that every command gets. Any other may be a secret, whatever its name. */
const KEPT = new Set(
  (
    "HOME USER LOGNAME LANG LANGUAGE TERM COLORTERM NO_COLOR FORCE_COLOR TZ NODE_ENV TMPDIR TMP TEMP " +
    // The gateway's paths, so that `openclaw` commands use this gateway.
    "OPENCLAW_STATE_DIR OPENCLAW_CONFIG_PATH " +
    // Proxies and certificates.
    "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS " +
    // Most Windows programs do not start without these variables.
    "SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT USERPROFILE USERNAME HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA " +
    "PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) COMMONPROGRAMFILES PROCESSOR_ARCHITECTURE NUMBER_OF_PROCESSORS"
  ).split(" "),
);
const isKept = (name: string): boolean => KEPT.has(name.toUpperCase()) || name.startsWith("LC_");

/** A URL with a user name, as a proxy or database may have. */
const ADDRESS_WITH_USER = /^[a-z][a-z0-9+.-]*:\/\/[^/\s@]+@/i;

/**
 * The environment of a command: a short list of this process's variables, and those that `tools.exec.passEnv` names.
 * Variables that the config references, and those whose value is a secret of this process, are always left out.
 */
export function commandEnvironment(own: Environment, rules: EnvironmentRules): Record<string, string> {
  const passed = new Set(rules.passEnv);
  const secret = new Set(rules.secretVariables);
  const isWanted = (name: string, value: string): boolean => {
    if (NEVER.test(name) || secret.has(name) || Buffer.byteLength(value) > MAX_VARIABLE_BYTES) return false;
    if (Secret.isKnown(value)) return false;
    return passed.has(name) || (isKept(name) && !ADDRESS_WITH_USER.test(value));
  };
  const kept = Object.entries(own).flatMap(([name, value]): [string, string][] =>
    value !== undefined && isWanted(name, value) ? [[name, value]] : [],
  );
  return { ...Object.fromEntries(kept), ...fixed(pathOf(own), rules.pathPrepend) };
}

/**
 * The environment of a command with variables that plugins or a call add. Variables that make a program load code are
 * left out; variables that are the operator's decision are added only where the environment has none.
 */
export function withAdded(
  made: Readonly<Record<string, string>>,
  added: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const wanted = Object.entries(added).filter(
    ([name, value]) => !NEVER.test(name) && Buffer.byteLength(value) <= MAX_VARIABLE_BYTES,
  );
  const overriding = wanted.filter(([name]) => !NO_OVERRIDE.test(name));
  return { ...Object.fromEntries(wanted), ...made, ...Object.fromEntries(overriding) };
}

// Windows calls the variable Path.
const pathOf = (own: Environment): string =>
  Object.entries(own).find(([name]) => name.toUpperCase() === "PATH")?.[1] ?? "";

function fixed(path: string, pathPrepend: readonly string[]): Record<string, string> {
  const shell = process.platform === "win32" ? {} : { SHELL: "/bin/sh" };
  const parts = [...pathPrepend, path].filter((part) => part !== "");
  return { ...shell, PATH: parts.join(delimiter), OPENCLAW_SHELL: "exec", GIT_TERMINAL_PROMPT: "0" };
}
