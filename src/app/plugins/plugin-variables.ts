import { activationOf } from "../../plugins/found/activation.ts";
import type { Log } from "../../types/log.ts";
import type { Secret } from "../../types/secret.ts";
import { own } from "../../utils/own.ts";
import type { LoadedConfig } from "../config/load.ts";

type Environment = Record<string, string | undefined>;

/**
 * Names of variables that change the code that this process or a program that it starts loads, or the gateway that a
 * command means.
 */
const RESERVED = /^(?:NODE_|LD_|DYLD_|OPENCLAW_(?:GATEWAY_|STATE_DIR$|CONFIG_PATH$|HOME$|SHUTDOWN_))/i;

/** A plugin or hook whose variables are set, with the config key that has them. */
interface Borrower {
  readonly id: string;
  readonly key: string;
  readonly env: Readonly<Record<string, Secret>>;
}

/**
 * Variables of the config in this process's environment, where other code reads them. Variables that are set already
 * stay.
 */
export class LentVariables {
  readonly #env: Environment;
  readonly #log: Log;
  readonly #what: "plugin" | "hook";
  /** Variables that are set here, each with the id of its plugin or hook. */
  readonly #set = new Map<string, { readonly id: string; readonly value: string }>();
  readonly #told = new Set<string>();

  constructor(what: "plugin" | "hook", log: Log, env: Environment = process.env) {
    this.#what = what;
    this.#log = log;
    this.#env = env;
  }

  /** Sets the variables of the borrowers, and removes all others that were set here. */
  lend(borrowers: readonly Borrower[]): void {
    this.close();
    for (const { id, key, env } of borrowers)
      for (const [name, value] of Object.entries(env)) this.#add(id, `${key}.${name}`, { name, value: value.reveal() });
  }

  /** Removes all variables that were set here. A variable that somebody has changed since stays. */
  close(): void {
    for (const [name, { value }] of this.#set) if (this.#env[name] === value) delete this.#env[name];
    this.#set.clear();
  }

  #add(id: string, key: string, { name, value }: { readonly name: string; readonly value: string }): void {
    const why = this.#whyNot(name, value);
    if (why === undefined) {
      this.#env[name] = value;
      this.#set.set(name, { id, value });
      return;
    }
    const what = this.#what;
    if (!this.#told.has(key)) this.#log.warn(`a variable of a ${what} has no effect`, { [what]: id, key, why });
    this.#told.add(key);
  }

  #whyNot(name: string, value: string): string | undefined {
    if (RESERVED.test(name)) return "it is a variable of the gateway itself";
    if (this.#env[name] === undefined || this.#env[name] === value) return undefined;
    const other = this.#set.get(name);
    return other
      ? `the ${this.#what} ${other.id} sets it to another value`
      : "the gateway's environment has it already";
  }
}

/**
 * `plugins.entries.<id>.env` in this process's environment, where plugins read them. Variables that are set already
 * stay.
 */
export class PluginVariables {
  readonly #lent: LentVariables;

  constructor(log: Log, env: Environment = process.env) {
    this.#lent = new LentVariables("plugin", log, env);
  }

  /**
   * Sets the variables of the plugins that the config turns on, and of those that only `before` does; removes all
   * others.
   */
  follow(now: Turning, before: Turning = now): void {
    const on = borrowersIn(now);
    const ids = new Set(on.map(({ id }) => id));
    this.#lent.lend([...on, ...borrowersIn(before).filter(({ id }) => !ids.has(id))]);
  }

  /** Removes all variables that were set here. A variable that somebody has changed since stays. */
  close(): void {
    this.#lent.close();
  }
}

/** The parts of a loaded config that decide which plugins are on. */
type Turning = Pick<LoadedConfig, "plugins" | "config">;

const borrowersIn = ({ plugins, config }: Turning): readonly Borrower[] =>
  plugins.plugins
    .filter((found) => activationOf(found, config.plugins).isOn)
    .map(({ manifest: { id } }) => ({
      id,
      key: `plugins.entries.${id}.env`,
      env: own(config.plugins.entries, id)?.env ?? {},
    }));
