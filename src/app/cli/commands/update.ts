import { readConfigSource } from "../../config/source.ts";
import { resolvePaths } from "../../config/paths.ts";
import {
  cleanUpVersions,
  interrupted,
  planUpdate,
  update,
  updateBack,
  type RunningGateway,
  type UpdateOptions,
} from "../../update/update.ts";
import { type UpdateRecord, Versions } from "../../update/versions.ts";
import { writeJson, type Io } from "../io.ts";
import { startProgress } from "../progress.ts";
import { restartInto, serviceOf } from "./gateway/gateway-service.ts";

interface Json {
  readonly json?: boolean;
}

export interface VersionUpdateFlags extends Json {
  readonly restart?: boolean;
  readonly oneWay?: boolean;
  readonly timeout?: number;
}

export interface VersionUpdateRunFlags extends VersionUpdateFlags {
  readonly tag?: string;
  readonly dryRun?: boolean;
}

/** `update` */
export async function updateRun(io: Io, flags: VersionUpdateRunFlags): Promise<number> {
  const options = await optionsFor(io, flags);
  const { tag = "latest" } = flags;
  if (flags.dryRun !== true) return report(io, flags, await update(tag, options));
  const plan = await planUpdate(tag, options);
  if (flags.json === true) writeJson(io, { dryRun: true, ...plan });
  else io.out(plan.isSame ? `${plan.to} runs already.\n` : `Would update ${plan.from} to ${plan.to} (${plan.spec}).\n`);
  return 0;
}

/** `update back` */
export async function updateBackwards(io: Io, flags: VersionUpdateFlags): Promise<number> {
  return report(io, flags, await updateBack(await optionsFor(io, flags)));
}

/** `update cleanup` */
export async function updateCleanup(io: Io, flags: Json): Promise<number> {
  const removed = await cleanUpVersions(await optionsFor(io, flags));
  const last = (await new Versions(resolvePaths(io.env).stateDir).updates()).at(-1);
  if (flags.json === true) writeJson(io, { removed, last: last ?? null });
  else io.out(removed.length === 0 ? "Nothing is left to remove.\n" : `Removed ${removed.join(", ")}.\n`);
  return 0;
}

/** Updates that `update status` shows. */
const SHOWN = 5;

/** `update status`: reads only. */
export async function updateStatus(io: Io, { json }: Json): Promise<number> {
  const versions = new Versions(resolvePaths(io.env).stateDir);
  const { use, before } = await versions.choice();
  const updates = await versions.updates();
  const open = interrupted(updates);
  const facts = {
    version: use.version,
    root: versions.rootOf(use),
    installed: versions.installed,
    before: before?.version,
  };
  if (json === true) {
    writeJson(io, { ...facts, before: before?.version ?? null, interrupted: open !== undefined, updates });
    return 0;
  }
  io.out(
    [
      `Version ${facts.version}, in ${facts.root}`,
      ...(use.name === null ? [] : [`Installed: ${versions.installed.version}, in ${versions.installed.root}`]),
      ...(before ? [`Before: ${before.version} (openclaw update back)`] : []),
      ...updates.slice(-SHOWN).map(lineOf),
      ...(open ? ["The last one runs, or was interrupted: openclaw update cleanup settles it."] : []),
      "",
    ].join("\n"),
  );
  return 0;
}

const lineOf = ({ kind, from, to, spec, steps, outcome, why }: UpdateRecord): string => {
  const at = steps[0]?.at.slice(0, 16).replace("T", " ") ?? "";
  const path = `${from.version} → ${to?.version ?? spec}`;
  return `${at}  ${kind === "back" ? "back " : ""}${path}  ${outcome ?? `at ${steps.at(-1)?.step}`}${why === undefined ? "" : `: ${why}`}`;
};

async function optionsFor(io: Io, flags: VersionUpdateFlags): Promise<UpdateOptions> {
  const paths = resolvePaths(io.env);
  // A config that cannot be read is the candidate's to refuse, with its place.
  const source = await readConfigSource({ path: paths.configPath, env: io.env }).catch(() => undefined);
  return {
    paths,
    configFiles: [...(source?.files.keys() ?? [])],
    env: io.env,
    gateway: gatewayOf(io),
    timeoutMs: (flags.timeout ?? 1800) * 1000,
    noRestart: flags.restart === false,
    oneWay: flags.oneWay === true,
  };
}

function gatewayOf(io: Io): RunningGateway {
  let progress: { stop(): void } | undefined;
  return {
    tell(step, line) {
      progress?.stop();
      progress = undefined;
      if (line === "") return;
      io.err(`${step}: ${line}\n`);
      progress = startProgress(io, line);
    },
    isService: async () => (await serviceOf(io))?.state.running === true,
    restart: (version, started) => restartInto(io, version, started),
  };
}

function report(io: Io, { json }: Json, record: UpdateRecord): number {
  const { outcome, from, to, why, kind } = record;
  if (json === true) writeJson(io, record);
  else if (outcome === "succeeded")
    io.out(
      `${kind === "back" ? "Back to" : "Updated to"} ${to?.version}.${why === undefined ? "" : ` ${why}`} The way back to ${from.version}: openclaw update back\n`,
    );
  else if (outcome === "skipped") io.out(`${why}\n`);
  else io.err(`${outcome === "rolled-back" ? `Rolled back to ${from.version}` : "Not updated"}: ${why}\n`);
  return outcome === "succeeded" || outcome === "skipped" ? 0 : 1;
}
