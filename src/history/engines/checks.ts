import type { Check, CheckResult } from "../../types/check.ts";
import { OpenClawError } from "../../types/errors.ts";
import { LEGACY, openEngine, type Opening } from "./open-engine.ts";
import { type EndedRun, skippedRuns } from "./turn/skipped-runs.ts";

/** The latest runs of this gateway, the latest first. */
export type Latest = () => Promise<readonly EndedRun[]>;

/**
 * The checks of `openclaw doctor`: the configured engine exists, can be made and finds what it requires; and how often runs had
 * to continue without it.
 */
export function engineChecks(id: string, opening: Opening, latest: Latest = async () => []): readonly Check[] {
  return [
    {
      id: "context-engine",
      title: "Context engine",
      run: async () =>
        id === LEGACY
          ? [{ status: "ok", message: "The built-in engine." }]
          : [await look(id, opening), ...troubleOf(id, await latest())],
    },
  ];
}

function troubleOf(id: string, runs: Awaited<ReturnType<Latest>>): readonly CheckResult[] {
  const trouble = skippedRuns(id, runs);
  if (!trouble) return [];
  return [
    {
      status: "warn",
      message: `In ${trouble.runs} of its last ${trouble.of} runs the built-in engine stood in. ${trouble.why}`,
      fix: `Mend or update the engine's plugin, or set plugins.slots.contextEngine to "${LEGACY}".`,
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
