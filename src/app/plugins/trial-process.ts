import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { Contributions } from "../../plugins/contributions.ts";
import { Plugins } from "../../plugins/host/plugins.ts";
import { resolveSdk } from "../../plugins/load/sdk-resolution.ts";
import type { PluginPorts } from "../../plugins/ports.ts";
import type { TrialMessage } from "../../plugins/trial/run-trials.ts";
import { systemClock } from "../../types/clock.ts";
import type { Log } from "../../types/log.ts";
import { noChannelPorts } from "./channel-ports.ts";
import { noSubagentPorts } from "./subagent-ports.ts";
import { mediaPorts, noEventPorts } from "./local-ports.ts";
import { openMediaStore } from "../../store/media.ts";
import { sdkUrls } from "./sdk-urls.ts";
import type { TrialJob } from "./trial-program.ts";

// The process in which plugins are tried: it loads each as the gateway would, only to look at it, and says how far it came.
// What fails here without ending the process is not reported: the gateway finds it itself.

/** A plugin whose code awaits something does not keep the process busy: nothing more can be found out about it here. */
const WAITING_MS = 2000;
/** Milliseconds after the registration, in which timers that it has set go off. */
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
  const plugins = new Plugins(new Contributions([]), portsOf(job), { mode: "discovery" });
  resolveSdk(sdkUrls());
  for (const found of job.plugins) {
    const { id } = found.manifest;
    await tell({ kind: "begin", id });
    await Promise.race([plugins.apply({ plugins: [found], broken: [] }), sleep(WAITING_MS)]);
    await sleep(AFTER_MS);
    await tell({ kind: "done", id });
  }
}

/** Resolves when it is sent: the code that runs next may never let go. */
const tell = (message: TrialMessage): Promise<void> =>
  new Promise((resolve, reject) => {
    process.send?.(message, undefined, {}, (error) => (error ? reject(error) : resolve()));
  });

/** What only the running gateway can do is refused. */
function portsOf({ stateDir, workspace, config, shown }: TrialJob): PluginPorts {
  const needsGateway = (): Promise<never> => Promise.reject(new Error("only the running gateway can do this"));
  return {
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
