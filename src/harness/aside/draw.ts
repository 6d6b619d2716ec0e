import { drawImages } from "../../providers/images/draw.ts";
import type { ModelHandle } from "../../providers/catalog.ts";
import { classifyFailure } from "../../providers/failure.ts";
import type { DrawAside, Drawing, DrawQuestion } from "../../types/media/drawing.ts";
import { originOf } from "../../types/run/model-meter.ts";
import type { SideCost } from "../../types/run/run.ts";
import { hasTokens } from "../../types/run/usage.ts";
import type { RunDeps, RunRequest } from "../request.ts";
import { askInTurn, type Failed } from "./keys.ts";

/** How a tool of a run has models draw. `spent` gets the cost of each request, also of one that failed. */
export const drawAsideIn =
  ({ facts }: RunRequest, { models, clock }: RunDeps, spent: (cost: SideCost) => void) =>
  (tool: string): DrawAside =>
  (question, signal) =>
    askInTurn(question.models, {
      models,
      signal,
      ask: (handle) =>
        draw(handle, question, {
          signal,
          drawWith: (inTime) =>
            drawImages(handle, question.ask, {
              origin: originOf(facts),
              signal: inTime,
              clock,
              onSettled({ usage }) {
                const model = { provider: handle.info.provider, id: handle.info.id };
                if (hasTokens(usage)) spent({ what: "tool", tool, model, calls: 1, usage });
              },
            }),
        }),
    });

interface Drawer {
  readonly signal: AbortSignal;
  drawWith(inTime: AbortSignal): ReturnType<typeof drawImages>;
}

async function draw(
  { info }: ModelHandle,
  { timeoutMs }: DrawQuestion,
  { signal, drawWith }: Drawer,
): Promise<Drawing | Failed> {
  const late = AbortSignal.timeout(timeoutMs);
  const drawn = await drawWith(AbortSignal.any([signal, late]));
  if (!("why" in drawn)) return { ...drawn, model: { provider: info.provider, id: info.id } };
  if (!late.aborted || signal.aborted) return signal.aborted ? { why: "it was stopped" } : drawn;
  const failure = classifyFailure(`The model timed out: there was no image within ${timeoutMs / 1000} s.`);
  return { why: failure.message, failure };
}
