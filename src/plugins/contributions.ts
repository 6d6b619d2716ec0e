import type { z } from "zod";
import type {
  ChannelContribution,
  CheckContribution,
  CliContribution,
  CommandContribution,
  ConfigContribution,
  ContributionRegistry,
  Contributor,
  MemoryContribution,
  ModelProviderContribution,
} from "../types/contribution.ts";
import type { ContextEngineFactory } from "../types/engine/context-engine.ts";
import type { Method } from "../types/method.ts";
import type { ToolContribution } from "../types/run/tool.ts";
import type { TurnKind } from "../types/run/turn-kind.ts";
import { own } from "../utils/own.ts";
import type { Hooks } from "./hooks.ts";

/** Everything that extensions and plugins add to the gateway: one value, made by `app/` and handed down. */
export class Contributions {
  readonly #channels = new Map<string, ChannelContribution>();
  readonly #turnKinds = new Map<string, TurnKind>();
  readonly #commands = new Map<string, CommandContribution>();
  readonly #tools = new Map<string, ToolContribution>();
  readonly #methods = new Map<string, Method>();
  readonly #cliCommands = new Map<string, CliContribution>();
  readonly #configs = new Map<string, ConfigContribution>();
  readonly #checks = new Map<string, CheckContribution>();
  readonly #engines = new Map<string, ContextEngineFactory>();
  readonly #memories = new Map<"memory", MemoryContribution>();
  readonly #providers = new Map<string, ModelProviderContribution>();
  readonly #hooks: ((hooks: Hooks) => void)[] = [];
  #isComplete = false;

  /**
   * Throws when two contributors have one id or add something of the same kind under one name, when a name cannot be used,
   * and when a contributor registers asynchronously: what it adds later would be missing.
   */
  constructor(contributors: readonly Contributor[]) {
    const ids = new Set<string>();
    for (const contributor of contributors) {
      if (ids.has(contributor.id)) throw new Error(`two contributors have the id "${contributor.id}"`);
      ids.add(contributor.id);
      const registered: unknown = contributor.register(this.#registryOf(contributor.id));
      if (registered instanceof Promise) throw asynchronous(contributor.id, registered);
    }
    this.#isComplete = true;
  }

  #registryOf(contributor: string): ContributionRegistry {
    const put: typeof putNew = (into, name, value, what) => {
      if (this.#isComplete)
        throw new Error(`"${contributor}" adds the ${what} "${name}" too late: only register may add`);
      putNew(into, name, value, what);
    };
    return {
      addChannel: (channel) => put(this.#channels, channel.id, channel, "channel"),
      addTurnKind: (kind) => put(this.#turnKinds, kind.name, kind, "turn kind"),
      addTool: (tool) => put(this.#tools, tool.name, tool, "tool"),
      addCommand: (command) => put(this.#commands, command.name, command, "command"),
      addHook: (name, handler, options) => {
        if (this.#isComplete) throw new Error(`"${contributor}" adds a hook too late: only register may add`);
        this.#hooks.push((hooks) => hooks.on(name, handler, options));
      },
      addMethod: (method) => put(this.#methods, method.name, method, "method"),
      addCliCommand: (command) => put(this.#cliCommands, command.name, command, "command of the command line"),
      addConfig: (config) => put(this.#configs, contributor, config, "config of"),
      addChecks: (checks) => put(this.#checks, checks.id, checks, "check"),
      addContextEngine: (id, factory) => put(this.#engines, id, factory, "context engine"),
      addMemory: (memory) => put(this.#memories, "memory", memory, "one"),
      addModelProvider: (provider) => put(this.#providers, provider.id, provider, "model provider"),
    };
  }

  get channels(): readonly ChannelContribution[] {
    return [...this.#channels.values()];
  }

  channel(id: string): ChannelContribution | undefined {
    return this.#channels.get(id);
  }

  get turnKinds(): readonly TurnKind[] {
    return [...this.#turnKinds.values()];
  }

  get tools(): readonly ToolContribution[] {
    return [...this.#tools.values()];
  }

  get commands(): readonly CommandContribution[] {
    return [...this.#commands.values()];
  }

  /** Registers every hook that was added. */
  hookInto(hooks: Hooks): void {
    for (const add of this.#hooks) add(hooks);
  }

  get methods(): readonly Method[] {
    return [...this.#methods.values()];
  }

  get cliCommands(): readonly CliContribution[] {
    return [...this.#cliCommands.values()];
  }

  /** Schemas of `plugins.entries.<id>.config`, by the id of the contributor. */
  get configSchemas(): Readonly<Record<string, z.ZodType>> {
    return Object.fromEntries([...this.#configs].map(([id, { schema }]) => [id, schema]));
  }

  /** Gives each contributor its part of the config, checked; without an entry the defaults of its schema. Throws a `ZodError`. */
  applyConfig(entries: PluginEntries): void {
    for (const [id, { schema, apply }] of this.#configs) {
      const given = own(entries, id)?.config;
      apply?.(schema.parse(given === undefined ? {} : given));
    }
  }

  get checks(): readonly CheckContribution[] {
    return [...this.#checks.values()];
  }

  get contextEngines(): ReadonlyMap<string, ContextEngineFactory> {
    return this.#engines;
  }

  get memory(): MemoryContribution | undefined {
    return this.#memories.get("memory");
  }

  get modelProviders(): readonly ModelProviderContribution[] {
    return [...this.#providers.values()];
  }
}

/** `plugins.entries` of the config. */
type PluginEntries = Readonly<Record<string, { readonly config?: unknown }>>;

/** The names that chats and models can call. A model's provider refuses every request that has a tool with another name. */
const CALLABLE: Readonly<Record<string, RegExp>> = { command: /^[a-z][a-z0-9_-]*$/, tool: /^[A-Za-z0-9_-]{1,64}$/ };

function putNew<T>(into: Map<string, T>, name: string, value: T, what: string): void {
  if (into.has(name)) throw new Error(`two contributors add the ${what} "${name}"`);
  if (CALLABLE[what]?.test(name) === false) throw new Error(`no ${what} can be called "${name}"`);
  into.set(name, value);
}

function asynchronous(id: string, registered: Promise<unknown>): Error {
  // The error below says what is wrong; how the promise ends does not matter any more.
  registered.catch(() => undefined);
  return new Error(`the contributor "${id}" registers asynchronously, and what it adds later would be missing`);
}
