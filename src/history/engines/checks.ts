import type { Check, CheckResult } from "../../types/check.ts";
import { LEGACY } from "./open-engine.ts";
import { type EndedRun, skippedRuns } from "./skipped-runs.ts";
import { sizeText } from "../../utils/text/size-text.ts";

/** The latest runs of this gateway, the latest first. */
export type Latest = () => Promise<readonly EndedRun[]>;

/** The plugin that has added an engine. */
export interface EngineOwner {
  readonly plugin: string;
  /** Folder of the plugin. */
  readonly root?: string;
  readonly version?: string;
  /** Calls of the plugin's code since it was loaded. */
  readonly calls?: number;
  readonly failed?: number;
  readonly lastError?: string;
  /** Place of the plugin's data, as far as that is known. */
  readonly store?: { readonly path: string; readonly bytes: number };
}

/** The selected engine, as the running gateway has it, or else as this process does, which has loaded it. */
export interface SelectedEngine {
  readonly isGateway: boolean;
  /** Unset for an engine of no plugin. */
  readonly owner?: EngineOwner;
  /** Why the engine cannot be used, in the text of a run. Unset when it was opened. */
  readonly fault?: { readonly message: string; readonly fix: string };
}

interface Known {
  readonly latest: Latest;
  /** Resolves when the plugins are loaded and the engine was opened; undefined for the built-in one. */
  readonly look: () => Promise<SelectedEngine | undefined>;
}

/** The checks of `openclaw doctor`: the selected engine can be used; and how often runs had to continue without it. */
export function engineChecks(id: string, { latest, look }: Known): readonly Check[] {
  return [
    {
      id: "context-engine",
      title: "Context engine",
      async run() {
        const selected = await look();
        if (!selected) return [{ status: "ok", message: `${id}: the built-in engine is active.` }];
        return [...resultsOf(id, selected), ...troubleOf(id, await latest())];
      },
    },
  ];
}

function resultsOf(id: string, { owner, fault, isGateway }: SelectedEngine): readonly CheckResult[] {
  const name = [id, owner?.version].filter(Boolean).join(" ");
  const state = isGateway ? "is active in the running gateway" : "can be opened";
  const found: CheckResult = fault
    ? { status: "fail", message: fault.message, fix: fault.fix }
    : { status: "ok", message: `${name} ${state}${owner ? placeOf(owner) : ""}.` };
  return [found, ...(owner ? [...errorsOf(owner), storeOf(owner)] : [])];
}

/** An engine has no way to say where its store is; only the folder that a service of its plugin gets is known. */
const storeOf = ({ store }: EngineOwner): CheckResult => ({
  status: "ok",
  message: store
    ? `Its store: ${store.path}, ${sizeText(store.bytes)}.`
    : "The engine does not say where its store is.",
});

const placeOf = ({ plugin, root }: EngineOwner): string =>
  `, of the plugin ${plugin}${root === undefined ? "" : ` in ${root}`}`;

const errorsOf = ({ calls = 0, failed = 0, lastError }: EngineOwner): readonly CheckResult[] =>
  lastError === undefined
    ? []
    : [
        {
          status: "warn",
          message: `${failed} of the ${calls} calls of its plugin failed. The latest: ${lastError}`,
          fix: "The log of the gateway has them: openclaw logs",
        },
      ];

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
