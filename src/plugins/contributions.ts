import type { ChannelContribution, ContributionRegistry, Contributor } from "../types/contribution.ts";
import type { TurnKind } from "../types/run/turn-kind.ts";

/** Everything that extensions and plugins add to the gateway: one value, made by `app/` and handed down. */
export class Contributions implements ContributionRegistry {
  readonly #channels = new Map<string, ChannelContribution>();
  readonly #turnKinds = new Map<string, TurnKind>();

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

  get turnKinds(): readonly TurnKind[] {
    return [...this.#turnKinds.values()];
  }
}

function put<T>(into: Map<string, T>, name: string, value: T, what: string): void {
  if (into.has(name)) throw new Error(`two contributors add the ${what} "${name}"`);
  into.set(name, value);
}
