import type { Config } from "./schema.ts";

/** Puts `env.vars` into the environment, where it has none of that name. */
export function applyEnv(config: Config, env: NodeJS.ProcessEnv): void {
  for (const [name, value] of Object.entries(config.env.vars)) env[name] ??= value.reveal();
}
