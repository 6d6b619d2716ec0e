import type { ContextEngine, ContextEngineFactory } from "../../../types/engine/context-engine.ts";
import { isFields } from "../../../utils/fields.ts";
import type { PluginsConfig } from "../../config.ts";
import type { CallLimit } from "../watch.ts";
import { withModelCalls } from "../llm.ts";
import { functionOf, nameIn, optionalMethodIn } from "../foreign.ts";
import { forPlugin, fromPlugin } from "../../exchanged-keys.ts";
import { conversationOf, sessionKeyIn, type PluginScope } from "../scope.ts";

/** `api.registerContextEngine(id, factory)`. The factory is called for every run of a session that uses the engine. */
export function registerContextEngine(scope: PluginScope, id: unknown, factory: unknown): void {
  const name = nameIn({ id }, "id", "registerContextEngine");
  const make = functionOf(factory, "registerContextEngine");
  const open: ContextEngineFactory = async (context) => {
    // The plugin is not ended while a run has one of its engines.
    const unused = scope.use();
    try {
      const limit = limitOf(scope, "bootstrap", unused);
      const engine: unknown = await scope.call(`engine ${name} factory`, () => make(context), limit);
      // The opener checks what it was given, and says what is wrong with it.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- foreign code: checked by the opener
      if (isFields(engine)) return measured(scope, name, { engine, unused }) as ContextEngine;
      unused();
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same
      return engine as ContextEngine;
    } catch (error) {
      unused();
      throw error;
    }
  };
  scope.registry.addContextEngine(name, open);
  scope.engines.add(name);
}

interface Used {
  readonly engine: object;
  /** Called when the run has released the engine. */
  unused(): void;
}

/** The engine with its calls counted, and a `dispose` in any case. All else is the engine's own, `this` included. */
function measured(scope: PluginScope, name: string, { engine, unused }: Used): object {
  return new Proxy(engine, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof key !== "string") return value;
      const call = (args: readonly unknown[], method: AnyFunction): unknown => {
        const given = args.map((arg) => withServices(scope, arg));
        const answer = scope.callFor(
          conversationOf(sessionKeyIn(args[0])),
          `engine ${name} ${key}`,
          () => Reflect.apply(method, target, given),
          limitOf(scope, LIMITS[key] ?? "bootstrap"),
        );
        const { keys } = scope.ports;
        if (answer instanceof Promise) return answer.then((value: unknown) => fromPlugin(value, keys));
        return fromPlugin(answer, keys);
      };
      if (key === "dispose")
        return async () => disposed(() => (isFunction(value) ? call([], value) : undefined), unused);
      return isFunction(value) ? (...args: readonly unknown[]) => call(args, value) : value;
    },
  });
}

/** Parameters for an engine: their keys are those that plugins see, and so are the keys that it gives to a service. */
function withServices(scope: PluginScope, given: unknown): unknown {
  const { keys } = scope.ports;
  const shown = forPlugin(withModelCalls(scope, given), keys);
  const context = isFields(shown) ? shown["runtimeContext"] : undefined;
  const rewrite = isFields(context) ? optionalMethodIn(context, "rewriteTranscriptEntries") : undefined;
  if (!isFields(shown) || !isFields(context) || !rewrite) return shown;
  const rewriteTranscriptEntries = (request: unknown) => rewrite(fromPlugin(request, keys));
  return { ...shown, runtimeContext: { ...context, rewriteTranscriptEntries } };
}

type AnyFunction = (...given: readonly unknown[]) => unknown;

const isFunction = (value: unknown): value is AnyFunction => typeof value === "function";

/**
 * Calls an engine's `dispose` without waiting for it, because the run has no more use for the engine; other code waits.
 */
function disposed(dispose: () => unknown, unused: () => void): unknown {
  try {
    return dispose();
  } finally {
    unused();
  }
}

type Limits = PluginsConfig["contextEngineTimeoutSeconds"];

/** The limits of methods by their names; `bootstrap` for all others. */
const LIMITS: Readonly<Record<string, keyof Limits>> = {
  assemble: "assemble",
  ingest: "afterTurn",
  ingestBatch: "afterTurn",
  afterTurn: "afterTurn",
  compact: "compact",
  maintain: "maintain",
  dispose: "dispose",
};

/** A call that takes longer counts as failed, and the run continues without its result. */
function limitOf(scope: PluginScope, limit: keyof Limits, late: () => void = () => undefined): CallLimit {
  const { clock, pluginsConfig } = scope.ports;
  return { ms: pluginsConfig().contextEngineTimeoutSeconds[limit] * 1000, clock, late };
}
