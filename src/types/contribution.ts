import type { IncomingMessage, ServerResponse } from "node:http";
import type { Command } from "commander";
import type { z } from "zod";
import type { Check } from "./check.ts";
import type { ChannelAdapter } from "./chat/channel.ts";
import type { InboundMessage } from "./chat/message.ts";
import type { ContextEngineFactory } from "./engine/context-engine.ts";
import type { AgentId, SessionKey } from "./ids.ts";
import type { Method } from "./method.ts";
import type { ModelMeter } from "./run/model-meter.ts";
import type { ModelProviderMethods, ProviderSettings } from "./run/model-provider.ts";
import type { HookName } from "./hook/hook-table.ts";
import type { HookEvent } from "./hook/events.ts";
import type { HookContext, HookOptions } from "./hook/hooks.ts";
import type { ToolContribution } from "./run/tool.ts";
import type { SandboxEngineContribution } from "./sandbox-engine.ts";
import type { WebSearchContribution } from "./plugin/web-search.ts";
import type { TurnKind } from "./run/turn-kind.ts";

/** Something that adds to the gateway: a bundled extension or an installed plugin. Both register by the same calls. */
export interface Contributor {
  readonly id: string;
  /**
   * Set for a contributor of a memory: it shares names such as `memory_search` with other memories, and has them while
   * `plugins.slots.memory` names it. `only`: the contributor is nothing else, so that none of its contributions count
   * while the slot names another one.
   */
  readonly memory?: "only" | "also";
  /** Called once, before the gateway uses anything that it adds. It must load nothing large: each part is loaded when it is needed. */
  register(registry: ContributionRegistry): void;
}

/** Services and programs outside that can be added: the rules of `ContributionRegistry` hold. */
interface ServiceRegistry {
  /** A provider of models, as `models.providers.<id>` describes one. The config has priority over it. */
  addModelProvider(provider: ModelProviderContribution): void;
  /** A provider of `web_search`. It never takes the place of one of the gateway with the same id. */
  addWebSearch(provider: WebSearchContribution): void;
  /** A program that runs sandboxed commands in containers, where `agents.defaults.sandbox.backend` names it. */
  addSandboxEngine(engine: SandboxEngineContribution): void;
}

/**
 * Contributions that can be added while `register` runs. Each call throws when the name is taken or cannot be used, or
 * when it is late.
 */
export interface ContributionRegistry extends ServiceRegistry {
  addChannel(channel: ChannelContribution): void;
  addTurnKind(kind: TurnKind): void;
  /** Adds a tool. The tool never replaces one of the gateway with the same name. */
  addTool(tool: ToolContribution): void;
  addCommand(command: CommandContribution): void;
  /** A handler that throws, or is late, is logged and skipped. */
  addHook<N extends HookName>(
    name: N,
    handler: (event: HookEvent<N>, context: HookContext) => unknown,
    options?: HookOptions,
  ): void;
  /** A method of the WebSocket protocol. */
  addMethod(method: Method): void;
  /** A path of the gateway's HTTP server. */
  addHttpRoute(route: HttpRouteContribution): void;
  /** A command of the command line. */
  addCliCommand(command: CliContribution): void;
  /** A section of the config: `plugins.entries.<id of the contributor>.config`. */
  addConfig(config: ConfigContribution): void;
  /** Checks of `openclaw doctor`. */
  addChecks(checks: CheckContribution): void;
  /** `plugins.slots.contextEngine` names the engine that runs. */
  addContextEngine(id: string, factory: ContextEngineFactory): void;
  /** There can be only one memory. Every contributor may add a supplement. */
  addMemory(memory: MemoryContribution): void;
}

/** A channel. Neither part loads the platform's SDK: a channel that is off costs nothing. */
export interface ChannelContribution {
  /** As in `channels.<id>`. */
  readonly id: string;
  /** Name of the channel for people. */
  readonly label: string;
  /** Schema of an account, for checking the config file. */
  config(): Promise<z.ZodType>;
  adapter(): Promise<ChannelAdapter>;
  readonly setup: ChannelSetup;
}

/** How an account is set up: by `channels add` and by the page's form. */
export interface ChannelSetup {
  readonly flags: readonly SetupFlag[];
  /** Further keys of the account that follow from the given ones. */
  implied?(account: SetupValues): SetupValues;
  /** The first value that the account cannot work without. */
  missing?(account: SetupValues): MissingValue | undefined;
}

export type SetupValues = Readonly<Record<string, unknown>>;

/** A flag of `channels add`, and a field of the form. */
export interface SetupFlag {
  /** Name in camel case, as the command line gives it: `botToken` of `--bot-token`. */
  readonly name: string;
  /** Flag in commander's form: `--bot-token <token>`. */
  readonly usage: string;
  readonly about: string;
  /** Key of the account for the flag's value. */
  readonly key: string;
  /** Label of the flag in the form. The form leaves the flag out when unset. */
  readonly label?: string;
  /** Must not be shown anywhere; with the environment variable that `--use-env` takes instead. */
  readonly secret?: { readonly env?: string };
  /** The terminal asks for the value when it is not given, and the form requires it. */
  readonly isRequired?: boolean;
  /** The value is a path, and the key becomes a reference to that file. */
  readonly isFile?: boolean;
  /** The form of a valid value. Values in files and variables are not checked. */
  readonly shape?: ValueShape;
}

export interface ValueShape {
  readonly pattern: RegExp;
  /** A sentence without its full stop. */
  readonly what: string;
  /** Where a person finds the right value. */
  readonly fix: string;
}

export interface MissingValue {
  readonly key: string;
  readonly message: string;
  readonly fix: string;
}

/**
 * Who may give a command. `anyone`: every allowed sender. `conversation`: an owner, and the person of a direct chat.
 * `owner`: an owner. If `commands.allowFrom` has a list, the people on it may give all commands except the owner's, and
 * only they and owners may give any.
 */
export type CommandAccess = "anyone" | "conversation" | "owner";

/** A command of chats: `/name`. It does not wait in the session's lane, so a run never delays it, and it delays no other message. */
export interface CommandContribution {
  /** Name without the slash: lower case, digits, `-` and `_`, beginning with a letter. */
  readonly name: string;
  readonly aliases?: readonly string[];
  /** Text for the command in `/help`, one line. */
  readonly help: string;
  readonly who: CommandAccess;
  /** Words that may follow the name, which clients offer for completion. None: nothing follows. Unset: any text may. */
  readonly choices?: readonly string[];
  /**
   * Gives the answer. When the promise rejects or takes longer than a minute, the chat gets a notice that something
   * went wrong.
   */
  run(asked: AskedContribution): Promise<string>;
}

export interface AskedContribution {
  /** The text after the name. */
  readonly args: string;
  readonly message: InboundMessage;
  readonly session: SessionKey;
  /** The agent that answers in the session. */
  readonly agentId: AgentId;
  /** Id of the current conversation of the session key; unset before its first message. */
  readonly sessionId?: string;
  readonly isOwner: boolean;
}

/** Where a command of the command line writes, and the environment that it may read. */
export interface CliIo {
  /** Text for standard output, without the newline at its end. */
  out(text: string): void;
  /** Text for standard error. */
  err(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Makes the action of a command. `run` gives the exit code; an `OpenClawError` is printed with its fix. */
export type CliAction = <Args extends readonly unknown[]>(
  run: (io: CliIo, ...args: Args) => Promise<number>,
) => (...args: Args) => Promise<void>;

export interface CliContribution {
  /** The first word after `openclaw`. */
  readonly name: string;
  /** More first words that `define` adds. */
  readonly aliases?: readonly string[];
  /** Adds the command to the program. Must load nothing: the command's action loads its code. */
  define(program: Command, act: CliAction): void;
}

export interface HttpRouteContribution {
  /** Begins with a slash. */
  readonly path: string;
  /** Paths below the route's path are served too. */
  readonly isPrefix: boolean;
  /** Callers need the gateway's token. Otherwise `handle` checks them. */
  readonly needsToken: boolean;
  /** Answers the request. When the promise rejects, the caller gets 500. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

export interface ConfigContribution {
  /** A function, so that a command which reads no config loads no schema. */
  schema(): Promise<z.ZodType>;
  /**
   * Called with the checked value before any other part of the contributor is used, and after every change of the
   * value.
   */
  apply?(value: unknown, place: ContributorPlace): void;
}

/** Facts about the gateway that a contributor gets with its config. */
export interface ContributorPlace {
  /** Absolute. */
  readonly stateDir: string;
  /** `plugins.slots.memory` */
  readonly memorySlot: string | undefined;
  /** Reserves the cost of a model call that the contributor makes itself. Unset where no ledger is kept. */
  readonly reserve?: ModelMeter["reserve"];
}

/** Facts that checks get. */
export interface CheckScene {
  readonly stateDir: string;
  /** The whole config; undefined while it is invalid, which another check reports. */
  readonly config: unknown;
}

export interface CheckContribution {
  readonly id: string;
  checks(scene: CheckScene): readonly Check[];
}

export interface MemoryContribution {
  readonly id: string;
  /** The contributor only adds to the memory's section of the prompt. */
  readonly isSupplement?: boolean;
  /** Sections of the system prompt that say how the memory is used. */
  prompt(request: MemoryPromptRequest): readonly string[];
}

export interface MemoryPromptRequest {
  readonly availableTools: ReadonlySet<string>;
  readonly citationsMode?: string;
}

export interface ModelProviderContribution {
  /** As in `provider/model`. */
  readonly id: string;
  /** Further names of the provider in `provider/model`. */
  readonly aliases?: readonly string[];
  /** Environment variables that may hold the key, the preferred one first. */
  readonly keyVariables: readonly string[];
  readonly settings: ProviderSettings;
  /** Code of the provider; without it, `settings` says everything. */
  readonly methods?: ModelProviderMethods;
}
