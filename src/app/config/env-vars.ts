import type { Config } from "./schema/schema.ts";

/** Puts `env.vars` into the environment, except for variables that are already set. */
export function applyEnv(config: Config, env: NodeJS.ProcessEnv): void {
  for (const [name, value] of Object.entries(config.env.vars)) env[name] ??= value.reveal();
}
