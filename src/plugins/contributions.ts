import type {
  ChannelContribution,
  CommandContribution,
  ContributionRegistry,
  Contributor,
} from "../types/contribution.ts";
import type { HookHandler, HookName, HookOptions } from "../types/run/hooks.ts";
import type { ToolContribution } from "../types/run/tool.ts";
import type { TurnKind } from "../types/run/turn-kind.ts";
import type { Hooks } from "./hooks.ts";

/** Everything that extensions and plugins add to the gateway: one value, made by `app/` and handed down. */
export class Contributions implements ContributionRegistry {
  readonly #channels = new Map<string, ChannelContribution>();
  readonly #turnKinds = new Map<string, TurnKind>();
  readonly #commands = new Map<string, CommandContribution>();
  readonly #tools = new Map<string, ToolContribution>();
  readonly #hooks: ((hooks: Hooks) => void)[] = [];

  /** Throws when two contributors add something of the same kind under one name. */
  constructor(contributors: readonly Contributor[]) {
    for (const contributor of contributors) contributor.register(this);
  }

  addChannel(channel: ChannelContribution): void {
    put(this.#channels, channel.id, channel, "channel");
  }

  addTurnKind(kind: TurnKind): void {
    put(this.#turnKinds, kind.name, kind, "turn kind");
  }

  get channels(): readonly ChannelContribution[] {
    return [...this.#channels.values()];
  }

  channel(id: string): ChannelContribution | undefined {
    return this.#channels.get(id);
  }

  addCommand(command: CommandContribution): void {
    put(this.#commands, command.name, command, "command");
  }

  addHook<N extends HookName>(name: N, handler: HookHandler<N>, options?: HookOptions): void {
    this.#hooks.push((hooks) => hooks.on(name, handler, options));
  }

  get commands(): readonly CommandContribution[] {
    return [...this.#commands.values()];
  }

  /** Registers every hook that was added. */
  hookInto(hooks: Hooks): void {
    for (const add of this.#hooks) add(hooks);
  }

  addTool(tool: ToolContribution): void {
    put(this.#tools, tool.name, tool, "tool");
  }

  get tools(): readonly ToolContribution[] {
    return [...this.#tools.values()];
  }

  get turnKinds(): readonly TurnKind[] {
    return [...this.#turnKinds.values()];
  }
}

function put<T>(into: Map<string, T>, name: string, value: T, what: string): void {
  if (into.has(name)) throw new Error(`two contributors add the ${what} "${name}"`);
  into.set(name, value);
}
