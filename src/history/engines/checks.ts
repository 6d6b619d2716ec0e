import type { Check, CheckResult } from "../../types/check.ts";
import { OpenClawError } from "../../types/errors.ts";
import { LEGACY, openEngine, type Opening } from "./open-engine.ts";
import { type EndedRun, skippedRuns } from "./turn/skipped-runs.ts";

/** The latest runs of this gateway, the latest first. */
export type Latest = () => Promise<readonly EndedRun[]>;

/** The plugin that has added an engine, as far as it is known. */
export interface RunningEngine {
  readonly plugin: string;
  /** Its folder. */
  readonly root?: string;
  readonly version?: string;
  /** Why it is not loaded, as half a sentence. */
  readonly why?: string;
  /** The running gateway has loaded it, so that it is not opened a second time. */
  readonly isRunning: boolean;
  /** Calls of its code since it was loaded. */
  readonly calls?: number;
  readonly failed?: number;
  readonly lastError?: string;
  /** Where it keeps its data, as far as that is known. */
  readonly store?: { readonly path: string; readonly bytes: number };
}

interface Known {
  readonly latest?: Latest;
  /** Resolves when the plugins are loaded; undefined for an engine of no plugin. */
  readonly owner?: () => Promise<RunningEngine | undefined>;
}

/**
 * The checks of `openclaw doctor`: the configured engine exists, can be made and finds what it requires; and how often runs had
 * to continue without it.
 */
export function engineChecks(id: string, opening: Opening, known: Known = {}): readonly Check[] {
  const { latest = async () => [], owner = async () => undefined } = known;
  return [
    {
      id: "context-engine",
      title: "Context engine",
      run: async () =>
        id === LEGACY
          ? [{ status: "ok", message: `${LEGACY}: the built-in engine is active.` }]
          : [...(await look(id, opening, await owner())), ...troubleOf(id, await latest())],
    },
  ];
}

async function look(id: string, opening: Opening, owner: RunningEngine | undefined): Promise<readonly CheckResult[]> {
  if (owner?.why !== undefined)
    return [
      { status: "fail", message: `${id} is selected, and its plugin is not loaded: ${owner.why}.`, fix: fixOf(id) },
    ];
  if (owner?.isRunning === true) {
    const name = [id, owner.version].filter(Boolean).join(" ");
    return [
      { status: "ok", message: `${name} is active in the running gateway${placeOf(owner)}.` },
      ...errorsOf(owner),
      storeOf(owner),
    ];
  }
  return [await opened(id, opening, owner), ...(owner ? [storeOf(owner)] : [])];
}

/** An engine has no way to say where its store is; only the folder that a service of its plugin gets is known. */
const storeOf = ({ store }: RunningEngine): CheckResult => ({
  status: "ok",
  message: store
    ? `Its store: ${store.path}, ${sizeText(store.bytes)}.`
    : "The engine does not say where its store is.",
});

const sizeText = (bytes: number): string =>
  bytes < 1_048_576 ? `${(bytes / 1024).toFixed(1)} kB` : `${(bytes / 1_048_576).toFixed(1)} MB`;

const placeOf = ({ plugin, root }: RunningEngine): string =>
  `, of the plugin ${plugin}${root === undefined ? "" : ` in ${root}`}`;

const errorsOf = ({ calls = 0, failed = 0, lastError }: RunningEngine): readonly CheckResult[] =>
  lastError === undefined
    ? []
    : [
        {
          status: "warn",
          message: `${failed} of the ${calls} calls of its plugin failed. The latest: ${lastError}`,
          fix: "The log of the gateway has them: openclaw logs",
        },
      ];

const fixOf = (id: string): string =>
  `Run: openclaw plugins update ${id}, or set plugins.slots.contextEngine to "${LEGACY}".`;

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

async function opened(id: string, opening: Opening, owner: RunningEngine | undefined): Promise<CheckResult> {
  try {
    const engine = await openEngine(id, opening);
    await engine.dispose?.();
    const { info } = engine;
    const compacts = info.ownsCompaction === true ? "; it compacts by itself" : "";
    const name = `${info.name} (${[id, info.version].filter(Boolean).join(" ")})`;
    return { status: "ok", message: `${name} can be opened${compacts}${owner ? placeOf(owner) : ""}.` };
  } catch (error) {
    if (!(error instanceof OpenClawError)) throw error;
    return { status: "fail", message: error.message, fix: error.fix };
  }
}
