import type { ContextEngineFactory, ContextEngines } from "../../types/engine/context-engine.ts";
import { LEGACY } from "./open-engine.ts";

/** The engines that plugins have registered. */
export class EngineRegistry implements ContextEngines {
  readonly #factories = new Map<string, ContextEngineFactory>();

  /**
   * A second registration under one id takes the place of the first: plugins are registered more than once in a process.
   * Gives back what takes it out again. Throws on an empty id and on the one of the engine that ships.
   */
  registerContextEngine(id: string, factory: ContextEngineFactory): () => void {
    if (id.trim() === "" || id === LEGACY) throw new Error(`A context engine cannot be registered as "${id}".`);
    this.#factories.set(id, factory);
    return () => {
      if (this.#factories.get(id) === factory) this.#factories.delete(id);
    };
  }

  get(id: string): Promise<ContextEngineFactory> | undefined {
    const factory = this.#factories.get(id);
    return factory && Promise.resolve(factory);
  }

  ids(): readonly string[] {
    return [...this.#factories.keys()];
  }
}
