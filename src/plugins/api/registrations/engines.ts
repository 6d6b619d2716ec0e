import type { ContextEngine, ContextEngineFactory } from "../../../types/engine/context-engine.ts";
import { isFields } from "../../../utils/fields.ts";
import { withModelCalls } from "../runtime/llm.ts";
import { functionOf, nameIn } from "../foreign.ts";
import { conversationOf, keyIn, type PluginScope } from "../scope.ts";

/** `api.registerContextEngine(id, factory)`. The factory is called for every run of a session that uses the engine. */
export function registerContextEngine(scope: PluginScope, id: unknown, factory: unknown): void {
  const name = nameIn({ id }, "id", "registerContextEngine");
  const make = functionOf(factory, "registerContextEngine");
  const open: ContextEngineFactory = async (context) => {
    const engine: unknown = await scope.call(`engine ${name} factory`, () => make(context));
    // The opener checks what it was given, and says what is wrong with it.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- foreign code: checked by the opener
    return (isFields(engine) ? measured(scope, name, engine) : engine) as ContextEngine;
  };
  scope.registry.addContextEngine(name, open);
}

/** The engine with the time of its calls counted. Everything else of it is its own, `this` included. */
function measured(scope: PluginScope, name: string, engine: object): object {
  return new Proxy(engine, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function" || typeof key !== "string") return value;
      return (...args: readonly unknown[]): unknown =>
        scope.callFor(conversationOf(keyIn(args[0])), `engine ${name} ${key}`, () =>
          Reflect.apply(
            value,
            target,
            args.map((arg) => withModelCalls(scope, arg)),
          ),
        );
    },
  });
}
