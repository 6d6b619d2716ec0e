import type { ContextEngineFactory, ContextEngines } from "../../types/engine/context-engine.ts";
import { LEGACY } from "./open-engine.ts";

/** The engines that plugins have registered. */
export class EngineRegistry implements ContextEngines {
  readonly #factories = new Map<string, ContextEngineFactory>();

  /**
   * Registers an engine. A second registration under an id replaces the first, because plugins are registered more than once in
   * a process. Returns a function that removes it. Throws for an empty id and for that of the built-in engine.
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
