import type { Check, CheckResult } from "../../types/check.ts";
import { OpenClawError } from "../../types/errors.ts";
import { LEGACY, openEngine, type Opening } from "./open-engine.ts";

/** What `openclaw doctor` looks at: the engine of the slot is there, can be made, and finds here what it requires. */
export function engineChecks(id: string, opening: Opening): readonly Check[] {
  return [
    {
      id: "context-engine",
      title: "Context engine",
      run: async () =>
        id === LEGACY ? [{ status: "ok", message: "The built-in engine." }] : [await look(id, opening)],
    },
  ];
}

async function look(id: string, opening: Opening): Promise<CheckResult> {
  try {
    const engine = await openEngine(id, opening);
    await engine.dispose?.();
    const { info } = engine;
    const compacts = info.ownsCompaction === true ? "; it compacts by itself" : "";
    return { status: "ok", message: `${info.name} (${[id, info.version].filter(Boolean).join(" ")})${compacts}.` };
  } catch (error) {
    if (!(error instanceof OpenClawError)) throw error;
    return { status: "fail", message: error.message, fix: error.fix };
  }
}
