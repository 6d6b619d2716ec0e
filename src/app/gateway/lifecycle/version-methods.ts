import { join } from "node:path";
import { z } from "zod";
import { systemAnswers } from "../../../types/answers/system.ts";
import { OpenClawError } from "../../../types/errors.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { shareCalls } from "../../../utils/share-calls.ts";
import { packageRoot } from "../../package-root.ts";
import { runProgram } from "../../update/fetch.ts";
import { interrupted } from "../../update/update.ts";
import { type UpdateRecord, Versions } from "../../update/versions.ts";
import type { Parts } from "../parts/parts.ts";

const none = z.looseObject({});

/** The methods about the version that runs, and the checks of the doctor. */
export function versionMethods(parts: Parts): readonly Method[] {
  const shared = shareCalls<DoctorReport>();
  return [
    defineMethod({
      name: "update.status",
      scope: "operator.admin",
      params: none,
      result: z.looseObject({ sentinel: z.null(), updateAvailable: z.null() }),
      // The gateway asks no registry for versions, and installs none.
      run: async () => ({ sentinel: null, updateAvailable: null }),
    }),
    defineMethod({
      name: "update.history",
      scope: "operator.admin",
      params: none,
      result: systemAnswers.update,
      run: () => updateHistory(parts),
    }),
    defineMethod({
      name: "update.hold",
      scope: "operator.admin",
      params: none,
      result: z.looseObject({ ok: z.boolean() }),
      run: async () => ({ ok: false }),
    }),
    defineMethod({
      name: "doctor.run",
      scope: "operator.admin",
      params: none,
      result: systemAnswers.doctor,
      run: () => shared("doctor", () => doctorReport(parts)),
    }),
  ];
}

/** The record that `openclaw update` keeps. */
async function updateHistory({ live }: Parts) {
  const versions = new Versions(live.paths.stateDir);
  const { use, before } = await versions.choice();
  const updates = await versions.updates();
  const last = updates.at(-1);
  return {
    version: use.version,
    ...(before && { before: before.version }),
    ...(last && { last: shownUpdate(last) }),
    interrupted: interrupted(updates) !== undefined,
  };
}

const shownUpdate = ({ kind, from, to, spec, steps, outcome, why }: UpdateRecord) => ({
  kind,
  from: from.version,
  to: to?.version ?? spec,
  ...(steps[0] && { at: steps[0].at }),
  ...(outcome !== undefined && { outcome }),
  ...(why !== undefined && { why }),
});

type DoctorReport = z.output<typeof systemAnswers.doctor>;

const DOCTOR_MS = 120_000;

/** Runs the doctor as a program of its own: it loads and reads much, and the gateway answers meanwhile. */
async function doctorReport({ live, stopping }: Parts): Promise<DoctorReport> {
  const { stateDir, configPath } = live.paths;
  const env = { ...process.env, OPENCLAW_STATE_DIR: stateDir, OPENCLAW_CONFIG_PATH: configPath };
  const argv = [process.execPath, join(packageRoot, "bin", "openclaw.mjs"), "doctor", "--json"];
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(DOCTOR_MS)]);
  const { out, err } = await runProgram(argv, env, signal).catch((error: unknown) => {
    if (error instanceof OpenClawError) throw noReport(`it did not end within ${DOCTOR_MS / 1000} seconds`);
    throw error;
  });
  const report = systemAnswers.doctor.safeParse(jsonOf(out));
  if (!report.success) throw noReport(err.trim().split("\n").at(-1) ?? "it printed none");
  return report.data;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const noReport = (why: string): MethodError =>
  new MethodError("UNAVAILABLE", `the doctor gave no report: ${why}`, {
    details: { code: "DOCTOR_FAILED", fix: "Run it on the gateway's machine: openclaw doctor" },
  });
