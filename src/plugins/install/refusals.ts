import { OpenClawError } from "../../types/errors.ts";

const CORRECT = "Correct the plugin, or install another version of it.";

/** The source holds no plugin that can be installed. `message` is a sentence. */
export const invalid = (message: string, fix = CORRECT, cause?: unknown): OpenClawError =>
  new OpenClawError("PLUGIN_INVALID", { message, fix, cause });

/** The source contains what could do harm outside the plugin's folder. `message` is a sentence. */
export const unsafe = (
  message: string,
  fix = "Do not install it before its author has explained this.",
): OpenClawError => new OpenClawError("PLUGIN_UNSAFE", { message, fix });

const REPEAT = "then repeat the command.";

/** Steps to take when npm or git failed, or is missing. */
export const FETCH_FIXES = {
  npm: `Check the name, the network and the registry (npm ping), ${REPEAT}`,
  noNpm: `Install npm, ${REPEAT}`,
  git: `Check the address, the branch or tag and the network with git ls-remote <address>; a private repository needs an SSH key or a credential helper, since git cannot ask for a password here. Then repeat the command.`,
  noGit: `Install git, ${REPEAT}`,
} as const;

/** npm or git failed. `message` is a sentence. */
export const notFetched = (message: string, cause: unknown, fix: string = FETCH_FIXES.npm): OpenClawError =>
  new OpenClawError("PLUGIN_FETCH", { message, fix, cause });
