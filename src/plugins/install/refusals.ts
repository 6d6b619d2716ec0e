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

/** npm or git failed. `message` is a sentence. */
export const notFetched = (message: string, cause: unknown): OpenClawError =>
  new OpenClawError("PLUGIN_FETCH", {
    message,
    fix: "Check the name, the network and the registry (npm ping), then repeat the command.",
    cause,
  });
