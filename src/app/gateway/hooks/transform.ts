import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { HookMapping } from "../../../automation/hooks/config.ts";
import type { TemplateScene } from "../../../automation/hooks/template.ts";
import { isFields } from "../../../utils/fields.ts";
import { isInside, realOf } from "../../../utils/real-path.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { within } from "../../../utils/within.ts";
import type { Clock } from "../../../types/clock.ts";

export interface TransformPlace {
  readonly clock: Clock;
  /** Absolute path of the folder that modules must lie in. */
  dir(): string;
}

/** What became of a request. `skipped`: the transform wants nothing to be done. */
export type Transformed =
  | { readonly kind: "changed"; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: "skipped" }
  | { readonly kind: "failed"; readonly error: string };

const MOST_MS = 10_000;

/** Runs the operator's own code on a request. Never rejects. */
export async function transformed(
  { module, export: named }: NonNullable<HookMapping["transform"]>,
  { payload, headers, query, path }: TemplateScene,
  { clock, dir }: TransformPlace,
): Promise<Transformed> {
  try {
    const run = await load(module, named, dir());
    const url = `/${path}?${new URLSearchParams(query).toString()}`;
    let answer: unknown;
    const work = (async () => {
      answer = await run({ payload, headers, url, path });
    })();
    // An error after the time is over concerns nobody any more.
    work.catch(() => undefined);
    if (!(await within(work, MOST_MS, clock)))
      return { kind: "failed", error: `it took longer than ${MOST_MS / 1000} seconds` };
    if (answer === null) return { kind: "skipped" };
    return { kind: "changed", fields: isFields(answer) ? answer : {} };
  } catch (error) {
    return { kind: "failed", error: errorText(error) };
  }
}

type Run = (request: object) => unknown;

/** A changed file is loaded anew. */
async function load(module: string, named: string | undefined, dir: string): Promise<Run> {
  const file = await realOf(resolve(dir, module));
  if (!isInside(file, await realOf(dir))) throw new Error(`${module} lies outside of ${dir}`);
  const { mtimeMs } = await stat(file);
  const loaded: unknown = await import(`${pathToFileURL(file).href}?${mtimeMs}`);
  const names = named === undefined ? ["default", "transform"] : [named];
  const found = names
    .map((name) => (isFields(loaded) ? loaded[name] : undefined))
    .find((one) => typeof one === "function");
  if (!isRun(found)) throw new Error(`${module} exports no function ${names.join(" or ")}`);
  return found;
}

const isRun = (value: unknown): value is Run => typeof value === "function";
