import { activationOf } from "../../plugins/found/activation.ts";
import type { Log } from "../../types/log.ts";
import { own } from "../../utils/own.ts";
import type { LoadedConfig } from "../config/load.ts";

type Environment = Record<string, string | undefined>;

/** Variables that change what this process or a program that it starts loads, or which gateway a command means. */
const RESERVED = /^(?:NODE_|LD_|DYLD_|OPENCLAW_(?:GATEWAY_|STATE_DIR$|CONFIG_PATH$|HOME$|SHUTDOWN_))/i;

/** `plugins.entries.<id>.env` in this process's environment, where plugins read them. Variables that are set already stay. */
export class PluginVariables {
  readonly #env: Environment;
  readonly #log: Log;
  /** Those that are set here, each with its plugin. */
  readonly #set = new Map<string, { readonly plugin: string; readonly value: string }>();
  readonly #told = new Set<string>();

  constructor(log: Log, env: Environment = process.env) {
    this.#log = log;
    this.#env = env;
  }

  /** Sets the variables of the plugins that the config turns on, and removes those that it no longer names. */
  follow({ plugins, config }: Pick<LoadedConfig, "plugins" | "config">): void {
    this.close();
    for (const found of plugins.plugins) {
      const { id } = found.manifest;
      if (!activationOf(found, config.plugins).isOn) continue;
      for (const [name, value] of Object.entries(own(config.plugins.entries, id)?.env ?? {}))
        this.#add(id, name, value.reveal());
    }
  }

  /** Removes all that were set. One that somebody has changed since stays. */
  close(): void {
    for (const [name, { value }] of this.#set) if (this.#env[name] === value) delete this.#env[name];
    this.#set.clear();
  }

  #add(plugin: string, name: string, value: string): void {
    const why = this.#whyNot(name, value);
    if (why === undefined) {
      this.#env[name] = value;
      this.#set.set(name, { plugin, value });
      return;
    }
    const key = `plugins.entries.${plugin}.env.${name}`;
    if (!this.#told.has(key)) this.#log.warn("a variable of a plugin has no effect", { plugin, key, why });
    this.#told.add(key);
  }

  #whyNot(name: string, value: string): string | undefined {
    if (RESERVED.test(name)) return "it is a variable of the gateway itself";
    if (this.#env[name] === undefined || this.#env[name] === value) return undefined;
    const other = this.#set.get(name);
    return other ? `the plugin ${other.plugin} sets it to another value` : "the gateway's environment has it already";
  }
}
