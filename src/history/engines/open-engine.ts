import type { Clock } from "../../types/clock.ts";
import {
  HOST_CAPABILITIES,
  type ContextEngine,
  type ContextEngineFactory,
  type ContextEngineFactoryContext,
  type ContextEngines,
  type HostRequirement,
} from "../../types/engine/context-engine.ts";
import { OpenClawError } from "../../types/errors.ts";
import type { Log } from "../../types/log.ts";
import { isFields } from "../../utils/fields.ts";
import { bounded, type BoundedOutcome } from "./bounded.ts";
import { background } from "../../utils/background.ts";

/** The built-in engine, which is used when the config names none. */
export const LEGACY = "legacy";

export interface EngineOpening {
  readonly engines: ContextEngines;
  readonly context: ContextEngineFactoryContext;
  readonly clock: Clock;
  /** Milliseconds for loading and making the engine. */
  readonly ms: number;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds to release an engine that cannot be used. */
  readonly log?: Log;
}

/**
 * Makes the configured engine for one run. Throws ENGINE_MISSING or ENGINE_UNUSABLE; another engine never replaces it. An
 * engine that was made but cannot be used, or was made too late, is released.
 */
export async function openEngine(id: string, opening: EngineOpening): Promise<ContextEngine> {
  const found = opening.engines.get(id);
  if (!found) throw missing(id, opening.engines.whyMissing(id));
  const made = await bounded(async (end) => {
    const engine = await make(found, opening.context);
    if (end.aborted) await release(engine, opening);
    return engine;
  }, opening);
  if (made.kind !== "ok") throw unusable(id, whyOf(made));
  const engine = made.value;
  const fault = await bounded(() => faultOf(engine, id), opening);
  const why = fault.kind === "ok" ? fault.value : whyOf(fault);
  if (why === undefined) return engine;
  background("end of an engine", release(engine, opening));
  throw unusable(id, why);
}

const whyOf = (failed: Exclude<BoundedOutcome<unknown>, { kind: "ok" }>): string =>
  failed.kind === "aborted" ? "aborted" : failed.why;

/** A plugin's code: the method may be missing, and it may throw. */
async function release(engine: ContextEngine, { clock, ms, log }: EngineOpening): Promise<void> {
  const given: unknown = engine;
  const dispose = isFields(given) ? given["dispose"] : undefined;
  if (typeof dispose !== "function") return;
  const done = await bounded<unknown>(() => Reflect.apply(dispose, given, []), { clock, ms });
  if (done.kind !== "ok")
    log?.warn("context engine failed", { code: "ENGINE_FAILED", method: "dispose", why: whyOf(done) });
}

async function make(factory: Promise<ContextEngineFactory>, context: ContextEngineFactoryContext) {
  const create = await factory;
  return create(context);
}

function faultOf(engine: ContextEngine, id: string): string | undefined {
  // A plugin's code, whose types are not checked.
  const given: unknown = engine;
  if (typeof given !== "object" || given === null) return "its factory made no engine";
  const { info }: { info?: unknown } = given;
  if (typeof info !== "object" || info === null) return "it has no info";
  const { id: own, name }: { id?: unknown; name?: unknown } = info;
  if (own !== id) return `its info.id is "${String(own)}", not the id that it is registered under`;
  if (typeof name !== "string" || name === "") return "its info has no name";
  const { ingest, assemble, compact }: { ingest?: unknown; assemble?: unknown; compact?: unknown } = given;
  const lacking = Object.entries({ ingest, assemble, compact }).filter(([, method]) => typeof method !== "function");
  if (lacking.length > 0) return `it lacks ${lacking.map(([method]) => method).join(", ")}`;
  return unmetBy(engine.info.hostRequirements?.["agent-run"]);
}

/** The engine's requirements that this host does not meet, as text; undefined when it meets all. */
export function unmetBy(requirement: HostRequirement | undefined): string | undefined {
  const required: unknown = requirement?.requiredCapabilities;
  if (!Array.isArray(required)) return undefined;
  const known = new Set<unknown>(HOST_CAPABILITIES);
  const unmet = required.filter((capability) => !known.has(capability)).map(String);
  if (unmet.length === 0) return undefined;
  return requirement?.unsupportedMessage ?? `it requires what this gateway does not have: ${unmet.join(", ")}`;
}

function missing(id: string, why: string | undefined): OpenClawError {
  const act = why === undefined ? "Install and enable" : "Mend or update";
  return new OpenClawError("ENGINE_MISSING", {
    message: `The context engine "${id}" is not there${why === undefined ? "" : `: ${why}`}.`,
    fix: `${act} its plugin, or set plugins.slots.contextEngine to "${LEGACY}".`,
  });
}

function unusable(id: string, why: string): OpenClawError {
  return new OpenClawError("ENGINE_UNUSABLE", {
    message: `The context engine "${id}" cannot be used: ${why.replace(/[.\s]+$/, "")}.`,
    fix: `Update or mend its plugin, or set plugins.slots.contextEngine to "${LEGACY}".`,
  });
}
