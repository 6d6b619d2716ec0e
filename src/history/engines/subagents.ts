import type { Clock } from "../../types/clock.ts";
import type { ContextEngine, SubagentEndedParams, SubagentSpawnParams } from "../../types/engine/context-engine.ts";
import type { Log } from "../../types/log.ts";
import { isFields } from "../../utils/fields.ts";
import { bounded, type Outcome } from "./bounded.ts";

export interface SubagentSetting {
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds for each call. */
  readonly ms: number;
}

export type SpawnPreparation =
  /** `rollback` is called when the spawn fails after all; it never rejects. */
  { readonly kind: "ready"; rollback(): Promise<void> } | { readonly kind: "failed"; readonly why: string };

/** Lets an engine get ready for a child session before it starts. Never rejects; what failed must keep the child from starting. */
export async function prepareSubagentSpawn(
  engine: ContextEngine,
  params: SubagentSpawnParams,
  setting: SubagentSetting,
): Promise<SpawnPreparation> {
  if (!engine.prepareSubagentSpawn) return { kind: "ready", rollback: async () => undefined };
  const done = await bounded(() => engine.prepareSubagentSpawn?.({ ...params }), setting);
  if (done.kind === "aborted") return { kind: "failed", why: "aborted" };
  if (done.kind !== "ok") {
    note("prepareSubagentSpawn", done, engine, setting);
    return { kind: "failed", why: done.why };
  }
  const prepared: unknown = done.value;
  const undo = isFields(prepared) ? prepared["rollback"] : undefined;
  return {
    kind: "ready",
    async rollback() {
      if (typeof undo !== "function") return;
      const undone = await bounded<unknown>(() => Reflect.apply(undo, prepared, []), setting);
      note("rollback", undone, engine, setting);
    },
  };
}

/** Tells an engine that a child session is over. Never rejects. */
export async function tellSubagentEnded(
  engine: ContextEngine,
  params: SubagentEndedParams,
  setting: SubagentSetting,
): Promise<void> {
  if (!engine.onSubagentEnded) return;
  const done = await bounded(() => engine.onSubagentEnded?.({ ...params }), setting);
  note("onSubagentEnded", done, engine, setting);
}

function note(method: string, done: Outcome<unknown>, { info }: ContextEngine, { log }: SubagentSetting): void {
  if (done.kind === "ok" || done.kind === "aborted") return;
  log.warn("context engine failed", { code: "ENGINE_FAILED", engine: info.id, method, why: done.why });
}
