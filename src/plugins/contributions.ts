import type { z } from "zod";
import type {
  ChannelContribution,
  CheckContribution,
  CliContribution,
  CommandContribution,
  ConfigContribution,
  ContributionRegistry,
  HttpRouteContribution,
  Contributor,
  ContributorPlace,
  MemoryContribution,
  MemoryPromptRequest,
  ModelProviderContribution,
} from "../types/contribution.ts";
import type { ContextEngineFactory } from "../types/engine/context-engine.ts";
import type { Method } from "../types/method.ts";
import { isHookName, type HookName } from "../types/hook/hook-table.ts";
import type { HookHandler } from "../types/hook/hooks.ts";
import type { ToolContribution } from "../types/run/tool.ts";
import type { TurnKind } from "../types/run/turn-kind.ts";
import type { SandboxEngineContribution } from "../types/sandbox-engine.ts";
import type { WebSearchContribution } from "../types/plugin/web-search.ts";
import { own } from "../utils/own.ts";
import { HookTable, type AddedHook } from "./hook-table.ts";
import { NamedValues, type Precedence } from "./named-values.ts";

/** Kinds of contributions that the gateway has too, with reserved names. */
type ReservedKind = "commands" | "methods" | "engines";

/**
 * Everything that extensions and plugins add to the gateway: one value, made by `app/` and passed down. Contributors
 * come and go while the gateway runs, so code that uses contributions reads them when it needs them.
 */
export class Contributions {
  /** `plugins.slots.memory`; undefined before a config was applied. */
  #memory: string | undefined;
  readonly #memoryKinds = new Map<string, NonNullable<Contributor["memory"]>>();
  /** Contributors that are removed once their replacements are there. */
  readonly #leaving = new Set<string>();
  /** Why contributors could add nothing, by their ids. */
  readonly #failures = new Map<string, string>();
  readonly #replacements = new Set<Promise<void>>();
  readonly #precedence: Precedence = {
    rankOf: (owner) => this.#rankOf(owner),
    mayShare: (owner, taken) =>
      this.#leaving.has(taken) || (this.#memoryKinds.has(owner) && this.#memoryKinds.has(taken)),
  };
  readonly #tables = {
    channels: new NamedValues<ChannelContribution>("channel", this.#precedence),
    turnKinds: new NamedValues<TurnKind>("turn kind", this.#precedence),
    tools: new NamedValues<ToolContribution>("tool", this.#precedence),
    commands: new NamedValues<CommandContribution>("command", this.#precedence),
    methods: new NamedValues<Method>("method", this.#precedence),
    httpRoutes: new NamedValues<HttpRouteContribution>("HTTP route", this.#precedence),
    cliCommands: new NamedValues<CliContribution>("command of the command line", this.#precedence),
    // The settings of a memory that is out of use are checked all the same.
    configs: new NamedValues<ConfigContribution>("config", { ...this.#precedence, rankOf: () => "usual" }),
    checks: new NamedValues<CheckContribution>("check", this.#precedence),
    engines: new NamedValues<ContextEngineFactory>("context engine", this.#precedence),
    memories: new NamedValues<MemoryContribution>("memory", this.#precedence),
    memorySupplements: new NamedValues<MemoryContribution>("memory supplement", this.#precedence),
    providers: new NamedValues<ModelProviderContribution>("model provider", this.#precedence),
    webSearches: new NamedValues<WebSearchContribution>("provider of web searches", this.#precedence),
    sandboxEngines: new NamedValues<SandboxEngineContribution>("engine of the sandbox", this.#precedence),
    skills: new NamedValues<string>("skill folder", this.#precedence),
  };
  readonly #hooks = new HookTable();
  #revision = 0;
  /** Schemas of the configs, as `configSchemas` loaded them last. */
  #schemas: ReadonlyMap<string, z.ZodType> = new Map();
  /** The current registration of each contributor: an older one can add nothing. */
  readonly #open = new Map<string, object>();
  readonly #reserved = new Map<ReservedKind, ReadonlySet<string>>();

  /** Throws as `add` does, and when two contributors have one id. */
  constructor(contributors: readonly Contributor[]) {
    for (const contributor of contributors) {
      const { id } = contributor;
      if (this.#open.has(id)) throw new Error(`two contributors have the id "${id}"`);
      this.add(contributor);
    }
  }

  /** Grows with every change. */
  get revision(): number {
    return this.#revision;
  }

  /**
   * Registers a contributor; its earlier contributions are removed first. When it throws, nothing of the contributor
   * remains: when another contributor has added something of the same kind and name, when a name cannot be used, and
   * when `register` gives a promise.
   */
  add(contributor: Contributor): void {
    this.remove(contributor.id);
    const registration = {};
    this.#open.set(contributor.id, registration);
    if (contributor.memory !== undefined) this.#memoryKinds.set(contributor.id, contributor.memory);
    try {
      const registered: unknown = contributor.register(this.#registryOf(contributor.id, registration));
      if (registered instanceof Promise) throw asynchronous(contributor.id, registered);
    } catch (error) {
      this.remove(contributor.id);
      throw error;
    }
  }

  /** Adds skills, or folders of skills, by their absolute paths. They are removed with their contributor. */
  addSkillFolders(contributor: string, paths: readonly string[]): void {
    for (const path of paths) this.#tables.skills.add(contributor, path, path);
    this.#revision++;
  }

  /** Removes everything that a contributor has added. */
  remove(contributor: string): void {
    this.#open.delete(contributor);
    this.#memoryKinds.delete(contributor);
    this.#leaving.delete(contributor);
    this.#failures.delete(contributor);
    for (const table of Object.values(this.#tables)) table.removeOf(contributor);
    this.#hooks.removeOf(contributor);
    this.#revision++;
  }

  /** Until the contributor is removed, others may add names that it has: these count from the removal on. */
  willRemove(contributor: string): void {
    this.#leaving.add(contributor);
  }

  /** Remembers why a contributor is not there, as half a sentence, until it is added again. */
  noteFailure(contributor: string, why: string): void {
    this.#failures.set(contributor, why);
  }

  failureOf(contributor: string): string | undefined {
    return this.#failures.get(contributor);
  }

  /** While `work` lasts, a contributor is being replaced: what begins then waits with `settled`. Rejects as `work` does. */
  async replacing<T>(work: () => Promise<T>): Promise<T> {
    const end = Promise.withResolvers<void>();
    this.#replacements.add(end.promise);
    try {
      return await work();
    } finally {
      this.#replacements.delete(end.promise);
      end.resolve();
    }
  }

  /** Resolves when no contributor is being replaced. Never rejects. */
  async settled(): Promise<void> {
    while (this.#replacements.size > 0) await Promise.all(this.#replacements);
  }

  #rankOf(contributor: string): ReturnType<Precedence["rankOf"]> {
    if (this.#memory === undefined) return "usual";
    if (this.#memory === contributor) return "first";
    return this.#memoryKinds.get(contributor) === "only" ? "none" : "usual";
  }

  /** Keeps the gateway's own names from being added. Throws when a contributor has added one already. */
  reserve(kind: ReservedKind, names: readonly string[]): void {
    for (const name of names) {
      if (this.#tables[kind].get(name))
        throw new Error(`a contributor adds "${name}", a name of the gateway's own ${kind}`);
    }
    this.#reserved.set(kind, new Set([...(this.#reserved.get(kind) ?? []), ...names]));
  }

  /** Names of a contributor's contributions, by kind; kinds without any are left out. */
  namesOf(contributor: string): Readonly<Record<string, readonly string[]>> {
    const named = Object.entries(this.#tables).map(([kind, table]) => [kind, table.namesOf(contributor)] as const);
    const hooks = ["hooks", this.#hooks.namesOf(contributor)] as const;
    return Object.fromEntries([...named, hooks].filter(([, names]) => names.length > 0));
  }

  #registryOf(owner: string, registration: object): ContributionRegistry {
    const changed = (add: () => void) => {
      if (this.#open.get(owner) !== registration)
        throw new Error(`${owner} is not loaded any more: it can add nothing`);
      add();
      this.#revision++;
    };
    const t = this.#tables;
    return {
      addChannel: (channel) => changed(() => t.channels.add(owner, channel.id, channel)),
      addTurnKind: (kind) => changed(() => t.turnKinds.add(owner, kind.name, kind)),
      addTool: (tool) => changed(() => t.tools.add(owner, callable("tool", tool.name), tool)),
      addCommand: (command) => changed(() => this.#addCommand(owner, command)),
      addHook: (name, handler, options = {}) =>
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- whoever calls a hook passes the event of its name
        changed(() => this.#hooks.add({ owner, name, handler: handler as HookHandler, options })),
      addMethod: (method) => changed(() => t.methods.add(owner, this.#free("methods", method.name), method)),
      addHttpRoute: (route) => changed(() => t.httpRoutes.add(owner, route.path, route)),
      addCliCommand: (command) => changed(() => t.cliCommands.add(owner, command.name, command)),
      addConfig: (config) => changed(() => t.configs.add(owner, owner, config)),
      addChecks: (checks) => changed(() => t.checks.add(owner, checks.id, checks)),
      addContextEngine: (id, factory) => changed(() => t.engines.add(owner, this.#free("engines", id), factory)),
      addMemory: (memory) => changed(() => this.#addMemory(owner, memory)),
      addModelProvider: (provider) => changed(() => t.providers.add(owner, provider.id, provider)),
      addWebSearch: (provider) => changed(() => t.webSearches.add(owner, provider.id, provider)),
      addSandboxEngine: (engine) => changed(() => t.sandboxEngines.add(owner, engine.backend, engine)),
    };
  }

  #addMemory(owner: string, memory: MemoryContribution): void {
    const { memories, memorySupplements } = this.#tables;
    if (memory.isSupplement === true) memorySupplements.add(owner, memory.id, memory);
    else memories.add(owner, "memory", memory);
  }

  /** An alias takes a name too. */
  #addCommand(owner: string, command: CommandContribution): void {
    const taken = new Set(
      this.#tables.commands.list.flatMap(({ name, aliases = [] }) => {
        const other = this.#tables.commands.ownerOf(name);
        return other !== undefined && this.#precedence.mayShare(owner, other) ? [] : [name, ...aliases];
      }),
    );
    for (const name of [command.name, ...(command.aliases ?? [])]) {
      this.#free("commands", callable("command", name));
      if (taken.has(name))
        throw new Error(`${owner} adds the command "${name}", which another contributor has added already`);
    }
    this.#tables.commands.add(owner, command.name, command);
  }

  #free(kind: ReservedKind, name: string): string {
    if (this.#reserved.get(kind)?.has(name)) throw new Error(`"${name}" is a name of the gateway's own ${kind}`);
    return name;
  }

  get channels(): readonly ChannelContribution[] {
    return this.#tables.channels.list;
  }

  channel(id: string): ChannelContribution | undefined {
    return this.#tables.channels.get(id);
  }

  get turnKinds(): readonly TurnKind[] {
    return this.#tables.turnKinds.list;
  }

  get tools(): readonly ToolContribution[] {
    return this.#tables.tools.list;
  }

  /**
   * Names of tools of all contributors, also of contributors that a slot puts out of use: a list of tools may name
   * them.
   */
  get toolNames(): readonly string[] {
    return this.#tables.tools.names;
  }

  get commands(): readonly CommandContribution[] {
    return this.#tables.commands.list;
  }

  /** Hooks with the higher priority first, then in the order of their registration. */
  hooksOf(name: HookName): readonly AddedHook[] {
    return this.#hooks.of(name);
  }

  /** The handlers of a hook by any name; empty for a name that is none. */
  handlersOf(name: string): readonly HookHandler[] {
    return isHookName(name) ? this.hooksOf(name).map(({ handler }) => handler) : [];
  }

  get methods(): readonly Method[] {
    return this.#tables.methods.list;
  }

  get httpRoutes(): readonly HttpRouteContribution[] {
    return this.#tables.httpRoutes.list;
  }

  get cliCommands(): readonly CliContribution[] {
    return this.#tables.cliCommands.list;
  }

  /** Schemas of `plugins.entries.<id>.config`, by the id of the contributor. */
  async configSchemas(): Promise<Readonly<Record<string, z.ZodType>>> {
    const loading = this.#tables.configs.entries().map(async ([id, config]) => [id, await config.schema()] as const);
    this.#schemas = new Map(await Promise.all(loading));
    return Object.fromEntries(this.#schemas);
  }

  /**
   * Checks each contributor's part of the config; without an entry it is the defaults of its schema. `configSchemas`
   * has loaded the schemas. Throws a `ZodError`. The result gives each contributor its part, and the slot of the memory
   * its name.
   */
  prepareConfig(entries: PluginEntries, place: ContributorPlace): () => void {
    const checked = this.#tables.configs.entries().map(([id, { apply }]) => {
      const given = own(entries, id)?.config;
      const value: unknown = this.#schemas.get(id)?.parse(given === undefined ? {} : given);
      return () => apply?.(value, place);
    });
    return () => {
      for (const apply of checked) apply();
      if (this.#memory === place.memorySlot) return;
      this.#memory = place.memorySlot;
      for (const table of Object.values(this.#tables)) table.refresh();
      this.#revision++;
    };
  }

  applyConfig(entries: PluginEntries, place: ContributorPlace): void {
    this.prepareConfig(entries, place)();
  }

  get checks(): readonly CheckContribution[] {
    return this.#tables.checks.list;
  }

  contextEngine(id: string): ContextEngineFactory | undefined {
    return this.#tables.engines.get(id);
  }

  /** The contributor of an engine. */
  engineOwner(id: string): string | undefined {
    return this.#tables.engines.ownerOf(id);
  }

  /** The section of the memory, then the additions of others. */
  memoryPrompt(request: MemoryPromptRequest): readonly string[] {
    const parts = [...this.#tables.memories.list, ...this.#tables.memorySupplements.list];
    return parts.flatMap(({ prompt }) => prompt(request));
  }

  /** Absolute paths. */
  get skillFolders(): readonly string[] {
    return this.#tables.skills.list;
  }

  get modelProviders(): readonly ModelProviderContribution[] {
    return this.#tables.providers.list;
  }

  get webSearches(): readonly WebSearchContribution[] {
    return this.#tables.webSearches.list;
  }

  get sandboxEngines(): readonly SandboxEngineContribution[] {
    return this.#tables.sandboxEngines.list;
  }
}

/** `plugins.entries` of the config. */
type PluginEntries = Readonly<Record<string, { readonly config?: unknown }>>;

/** The names that chats and models can call. A model's provider refuses every request that has a tool with another name. */
const CALLABLE = { command: /^[a-z][a-z0-9_-]*$/, tool: /^[A-Za-z0-9_-]{1,64}$/ } as const;

function callable(what: keyof typeof CALLABLE, name: string): string {
  if (!CALLABLE[what].test(name)) throw new Error(`no ${what} can be called "${name}"`);
  return name;
}

function asynchronous(id: string, registered: Promise<unknown>): Error {
  // The error below names the fault; the end of the promise does not matter any more.
  registered.catch(() => undefined);
  return new Error(`the contributor "${id}" registers asynchronously, and what it adds later would be missing`);
}
