import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { Contributions } from "../../plugins/contributions.ts";
import { Plugins } from "../../plugins/host/plugins.ts";
import { resolveSdk } from "../../plugins/load/sdk-resolution.ts";
import type { PluginPorts } from "../../plugins/ports.ts";
import type { TrialMessage, TrialReport } from "../../plugins/trial/run-trials.ts";
import { keyNames } from "../../sessions/shown/wire-keys.ts";
import { DEFAULT_AGENT } from "../../types/ids.ts";
import { systemClock } from "../../types/clock.ts";
import { OpenClawError } from "../../types/errors.ts";
import type { ContextEngines } from "../../types/engine/context-engine.ts";
import type { Log } from "../../types/log.ts";
import { defined } from "../../utils/defined.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { noChannelPorts } from "./channel-ports.ts";
import { noSubagentPorts } from "./subagent-ports.ts";
import { mediaPorts, noEventPorts } from "./local-ports.ts";
import { isMemory } from "../../plugins/found/absence.ts";
import { openMediaStore } from "../../store/media.ts";
import { sdkUrls } from "./sdk-urls.ts";
import type { TrialJob } from "./trial-program.ts";

// The process in which plugins are tried: it loads each plugin as the gateway would, only for the trial, and reports
// how far the plugin came. Whether a plugin and its engines can be used is tested only where a command asks for it: the
// gateway finds that out itself.

/**
 * Most milliseconds for which a plugin whose code awaits something is waited for: such code does not keep the process
 * busy, and the gateway need not know more.
 */
const WAITING_MS = 2000;
/** Milliseconds between two signs of a process that waits for a plugin. */
const SIGN_MS = 1000;
/** Milliseconds after the registration, in which timers that the registration set go off. */
const AFTER_MS = 20;

const nothing = () => undefined;
const silent: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing, with: () => silent };

process.on("unhandledRejection", nothing);
process.on("uncaughtException", nothing);
// The gateway is gone.
process.on("disconnect", () => process.exit(0));
process.once("message", (job: TrialJob) => {
  endAfter(job.lifeMs);
  tryAll(job).then(
    () => process.exit(0),
    () => process.exit(1),
  );
});

/** Ends this process also while the code of a plugin keeps it busy and nobody else is there to end it. */
function endAfter(ms: number): void {
  const code = `setTimeout(() => process.kill(process.pid, "SIGKILL"), ${ms})`;
  new Worker(code, { eval: true }).unref();
}

async function tryAll(job: TrialJob): Promise<void> {
  const contributions = job.engineMs === undefined ? new Contributions([]) : await withExtensions();
  const plugins = new Plugins(contributions, portsOf(job), { mode: job.engineMs === undefined ? "discovery" : "full" });
  resolveSdk(sdkUrls());
  for (const found of job.plugins) {
    const { id } = found.manifest;
    await tell({ kind: "begin", id });
    const loading = plugins.apply({ plugins: [found], broken: [] });
    const report =
      job.engineMs === undefined
        ? await Promise.race([loading, sleep(WAITING_MS)]).then(() => ({ engines: enginesOf(contributions, id) }))
        : await saying(
            id,
            loading.then(() => look(id, { plugins, contributions, job, engineMs: job.engineMs ?? 0 })),
          );
    await sleep(AFTER_MS);
    await tell({ kind: "done", id, report });
  }
}

const enginesOf = (contributions: Contributions, id: string): string[] => [
  ...(contributions.namesOf(id)["engines"] ?? []),
];

/** Contributions of the extensions, so that their names are taken. */
async function withExtensions(): Promise<Contributions> {
  const { bundledContributions } = await import("../contributions/extensions.ts");
  return bundledContributions();
}

/** Reports again and again that the process waits: a process that is kept busy reports nothing. */
async function saying<T>(id: string, work: Promise<T>): Promise<T> {
  const timer = setInterval(() => void tell({ kind: "waiting", id }).catch(nothing), SIGN_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

interface Look {
  readonly plugins: Plugins;
  readonly contributions: Contributions;
  readonly job: TrialJob;
  readonly engineMs: number;
}

/** Whether the plugin is loaded, and whether its engines can be opened. */
async function look(id: string, { plugins, contributions, job, engineMs }: Look): Promise<TrialReport> {
  const { openEngine } = await import("../../history/engines/open-engine.ts");
  const {
    state,
    why = "no reason is known",
    fix,
  } = plugins.records.find((one) => one.id === id) ?? { state: "failed" };
  if (state !== "loaded") return { engines: [], problem: { why, ...defined({ fix }) } };
  const engines = enginesOf(contributions, id);
  const context = { config: job.shown[id], agentDir: job.workspace, workspaceDir: job.workspace };
  const factories: ContextEngines = {
    get: async (name) =>
      contributions.contextEngine(name) ?? Promise.reject(new Error("it is not registered any more")),
    whyMissing: () => undefined,
  };
  const unusable: NonNullable<TrialReport["unusable"]> = [];
  for (const engine of engines) {
    try {
      const opened = await openEngine(engine, { engines: factories, context, clock: systemClock, ms: engineMs });
      await Promise.race([opened.dispose?.(), sleep(WAITING_MS)]);
    } catch (error) {
      unusable.push({ id: engine, ...problemOf(error) });
    }
  }
  return { engines, unusable, isMemory: isMemory(contributions.namesOf(id)) };
}

const problemOf = (error: unknown): { why: string; fix: string } =>
  error instanceof OpenClawError
    ? { why: error.message, fix: error.fix }
    : { why: `The engine failed: ${errorText(error)}.`, fix: "Mend or update its plugin." };

/**
 * Sends a message to the gateway. Resolves when it is sent: the code that runs next may keep the process busy for ever.
 */
const tell = (message: TrialMessage): Promise<void> =>
  new Promise((resolve, reject) => {
    process.send?.(message, undefined, {}, (error) => (error ? reject(error) : resolve()));
  });

/** Ports for plugins that are tried. Calls that need the running gateway are refused. */
function portsOf({ stateDir, workspace, config, shown }: TrialJob): PluginPorts {
  const needsGateway = (): Promise<never> => Promise.reject(new Error("only the running gateway can do this"));
  return {
    keys: keyNames(() => DEFAULT_AGENT),
    stateDir,
    workspace: () => workspace,
    shownConfig: ({ id }) => shown[id],
    pluginsConfig: () => config,
    settingsOf: (plugin) => ({ ...config.entries[plugin] }),
    complete: needsGateway,
    events: noEventPorts,
    media: mediaPorts(openMediaStore(`${stateDir}/media`)),
    sessions: {
      storePath: () => `${stateDir}/sessions/sessions.json`,
      load: () => ({}),
      filePath: (id) => `${stateDir}/sessions/${id}.jsonl`,
    },
    channels: noChannelPorts,
    subagents: noSubagentPorts,
    clock: systemClock,
    log: silent,
  };
}
