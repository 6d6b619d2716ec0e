import { z } from "zod";
import { defineMethod, MethodError, type Method } from "../../types/method.ts";
import { OpenClawError, withFix } from "../../types/errors.ts";
import { isRecord, type KeyPath } from "../config/problem.ts";
import { writeConfigValues } from "../config/write.ts";
import { channelSchemas } from "./extensions.ts";
import type { Parts } from "./parts.ts";

/** Reading and changing the config over the protocol. Secrets leave as `[secret]`. */
export function configMethods(parts: Parts): readonly Method[] {
  return [
    defineMethod({
      name: "config.get",
      scope: "operator.read",
      params: z.looseObject({}),
      run: async () => configOf(parts),
    }),
    defineMethod({
      name: "config.patch",
      scope: "operator.admin",
      params: z.looseObject({ patch: z.record(z.string(), z.unknown()).optional(), raw: z.string().optional() }),
      run: async ({ patch, raw }) => applyPatch(parts, patch ?? parseRaw(raw)),
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
    config: live.config,
  };
}

function parseRaw(raw: string | undefined): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(raw ?? "");
    if (isRecord(value)) return value;
  } catch {
    // Told below, with what was expected.
  }
  throw new MethodError("INVALID_REQUEST", "config.patch takes an object in `patch`, or its JSON in `raw`");
}

/** Each leaf is one edit of the file, all of them or none; the watcher applies them. */
async function applyPatch(parts: Parts, patch: Record<string, unknown>) {
  const options = { path: parts.live.loaded.path, env: process.env, channelSchemas: await channelSchemas() };
  const leaves = leavesOf(patch, []);
  try {
    await writeConfigValues(options, leaves);
  } catch (error) {
    if (error instanceof OpenClawError) throw new MethodError("INVALID_REQUEST", withFix(error));
    throw error;
  }
  return { ok: true, changed: leaves.map(({ path }) => path.join(".")) };
}

function leavesOf(value: unknown, path: KeyPath): readonly { path: KeyPath; value: unknown }[] {
  if (!isRecord(value) || Object.keys(value).length === 0) return [{ path, value }];
  return Object.entries(value).flatMap(([key, child]) => leavesOf(child, [...path, key]));
}
