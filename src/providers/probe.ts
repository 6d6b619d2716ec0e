import type { Models } from "./catalog.ts";
import { callModel, type CallFacts } from "./call.ts";
import { classifyFailure } from "./failure.ts";
import type { ModelRef } from "../types/run/model.ts";
import { modelName } from "../types/run/model.ts";
import type { FailureKind } from "../types/run/run.ts";

/** The result of one small call with a key to a model. */
export interface ModelProbe {
  readonly profileId: string;
  readonly provider: string;
  readonly model: string;
  readonly status: "ok" | FailureKind;
  readonly latencyMs: number;
  /** What the provider said, without secrets. */
  readonly error?: string;
  /** HTTP status of its answer; unset when none came. */
  readonly httpStatus?: number;
}

export interface ProbeLimits {
  readonly timeoutMs: number;
  readonly maxTokens: number;
  /** Calls at the same time. */
  readonly concurrency: number;
}

export interface ProbeTarget {
  readonly ref: ModelRef;
  readonly profile: string;
}

/** Makes a small call with each key, also during its cooldown, and changes no cooldown. Never rejects. */
export async function probeAll(
  models: Models,
  targets: readonly ProbeTarget[],
  limits: ProbeLimits,
): Promise<readonly ModelProbe[]> {
  const found: ModelProbe[] = [];
  const left = [...targets.entries()];
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) found[next[0]] = await probe(models, next[1], limits);
  };
  await Promise.all(Array.from({ length: limits.concurrency }, work));
  return found;
}

async function probe(models: Models, { ref, profile }: ProbeTarget, limits: ProbeLimits): Promise<ModelProbe> {
  const begun = performance.now();
  const failure = await ask(models, { ref, profile }, limits);
  return {
    profileId: profile,
    provider: ref.provider,
    model: modelName(ref),
    status: failure?.kind ?? "ok",
    latencyMs: Math.round(performance.now() - begun),
    ...(failure && { error: failure.message }),
    ...(failure?.httpStatus !== undefined && { httpStatus: failure.httpStatus }),
  };
}

async function ask(
  models: Models,
  { ref, profile }: ProbeTarget,
  { timeoutMs, maxTokens }: ProbeLimits,
): Promise<{ kind: FailureKind; message: string; httpStatus?: number } | undefined> {
  const handle = await models.find(ref, profile);
  if ("missing" in handle) return { kind: handle.because ?? "auth", message: handle.missing };
  const signal = AbortSignal.timeout(timeoutMs);
  const context = { messages: [{ role: "user" as const, content: "Say OK.", timestamp: Date.now() }] };
  let facts: CallFacts = {};
  const origin = { cause: "probe" as const };
  const options = { origin, maxTokens, signal, onFacts: (seen: CallFacts) => void (facts = seen) };
  const answer = await callModel(handle, context, options).result();
  if (answer.stopReason === "aborted") return { kind: "timeout", message: `No answer within ${timeoutMs} ms.` };
  if (answer.stopReason !== "error") return undefined;
  const { kind, message } = classifyFailure(answer.errorMessage ?? "", facts);
  return { kind, message, ...(facts.status !== undefined && { httpStatus: facts.status }) };
}
