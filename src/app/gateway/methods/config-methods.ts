import { z } from "zod";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { OpenClawError, withFix } from "../../../types/errors.ts";
import { patchLeaves } from "../../config/edit/patch.ts";
import { isRecord } from "../../config/schema/problem.ts";
import { configAnswer, shownConfig } from "../../config/shown.ts";
import { writeConfigValues } from "../../config/edit/write.ts";
import { requireSlots } from "../../plugins/select.ts";
import { loadOptionsFor } from "../../plugins/load-options.ts";
import type { Parts } from "../parts/parts.ts";

/** The protocol's methods that read and change the config. Secrets are sent as `[secret]`. */
export function configMethods(parts: Parts): readonly Method[] {
  return [
    defineMethod({
      name: "config.get",
      scope: "operator.read",
      params: z.looseObject({}),
      result: configAnswer,
      run: async () => configOf(parts),
    }),
    defineMethod({
      name: "config.patch",
      scope: "operator.admin",
      params: z.looseObject({ patch: z.unknown().optional(), raw: z.string().optional() }),
      run: async ({ patch, raw }) => applyPatch(parts, patch === undefined ? parseRaw(raw) : patchOf(patch)),
    }),
  ];
}

function configOf({ live }: Parts) {
  const { path, exists, hash, warnings } = live.loaded;
  const valid = live.problems.length === 0;
  return {
    path,
    exists,
    hash,
    valid,
    issues: live.problems,
    warnings: warnings.map((note) => note.text),
    config: shownConfig(live.config),
  };
}

function parseRaw(raw: string | undefined): Record<string, unknown> {
  try {
    return patchOf(JSON.parse(raw ?? ""));
  } catch {
    return patchOf(undefined);
  }
}

function patchOf(value: unknown): Record<string, unknown> {
  if (isRecord(value)) return value;
  throw new MethodError("INVALID_REQUEST", "config.patch takes an object in `patch`, or its JSON in `raw`");
}

/** Each leaf is one edit of the file, all of them or none; the watcher applies them. */
async function applyPatch(parts: Parts, patch: Record<string, unknown>) {
  const options = await loadOptionsFor(parts.live.contributions, parts.live.paths);
  const edits = patchLeaves(parts.live.config, patch);
  try {
    await requireSlots(parts.live, edits);
    await writeConfigValues(options, edits);
  } catch (error) {
    if (error instanceof OpenClawError) throw new MethodError("INVALID_REQUEST", withFix(error));
    throw error;
  }
  return { ok: true, changed: edits.map(({ path }) => path.join(".")) };
}
