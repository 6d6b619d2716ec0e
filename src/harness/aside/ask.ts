import type { ImageLoader } from "../../history/images/load.ts";
import { textOfAnswer } from "../../history/parts.ts";
import { callModel, type CallFacts } from "../../providers/call.ts";
import { readsPdf } from "../../providers/call/documents.ts";
import type { ModelHandle, Models } from "../../providers/catalog.ts";
import { classifyFailure } from "../../providers/failure.ts";
import { policyFor } from "../../providers/quirks.ts";
import type { ImageContent, ModelInfo, ModelRef, TextContent } from "../../types/run/model.ts";
import { type CallOrigin, callOriginOf } from "../../types/run/model-meter.ts";
import type { SideCost } from "../../types/run/run.ts";
import type { AskAside, NotAsked, SideAnswer, SidePart, SideQuestion } from "../../types/media/side-call.ts";
import { hasTokens } from "../../types/run/usage.ts";
import { maxSideIn } from "../context/images.ts";
import type { RunDeps, RunRequest } from "../request.ts";
import { askInTurn, type UnansweredCall } from "./keys.ts";

/** Milliseconds of silence after which a call has stalled when the config says nothing. */
const IDLE_MS = 120_000;

/** How tools of a run ask models. `spent` gets the cost of each call, also of a call that failed. */
export const askAsideIn =
  ({ choice, facts, settings }: RunRequest, { models, images }: RunDeps, spent: AsideParts["spent"]) =>
  (tool: string): AskAside =>
  (question, signal) =>
    askAside(
      question,
      {
        models,
        candidates: choice.candidates,
        images,
        maxSide: maxSideIn(settings),
        idleMs: settings.idleTimeoutMs ?? IDLE_MS,
        origin: callOriginOf(facts),
        tool,
        spent,
      },
      signal,
    );

interface AsideParts {
  readonly models: Models;
  /** The run's own models. */
  readonly candidates: readonly ModelRef[];
  /** Makes images smaller; no image is shown without it. */
  readonly images: Pick<ImageLoader, "fit"> | undefined;
  /** Longest side of an image in pixels. */
  readonly maxSide: number;
  readonly idleMs: number;
  readonly origin: CallOrigin;
  /** The name of the tool that asks. */
  readonly tool: string;
  spent(cost: SideCost): void;
}

/** Asks the models in turn, each with its keys. Rejects with the failures of all models when none answers. */
const askAside = (question: SideQuestion, parts: AsideParts, signal: AbortSignal): Promise<SideAnswer> =>
  askInTurn(question.models ?? parts.candidates, {
    models: parts.models,
    signal,
    ask: (handle) => ask(handle, { question, parts, signal }),
  });

interface Asking {
  readonly question: SideQuestion;
  readonly parts: AsideParts;
  readonly signal: AbortSignal;
}

async function ask(handle: ModelHandle, { question, parts, signal }: Asking): Promise<SideAnswer | UnansweredCall> {
  const { info } = handle;
  if (info.demo === true) return { why: "the demo model only repeats what it is told" };
  const shown = await question.show({ info, readsPdf: readsPdf(handle.pi) });
  if ("why" in shown) return shown;
  const content = await contentFor(handle, shown, parts);
  if ("why" in content) return content;
  const late = AbortSignal.timeout(question.timeoutMs);
  let facts: CallFacts = {};
  const message = await callModel(
    handle,
    { systemPrompt: question.system, messages: [{ role: "user", content: [...content], timestamp: 0 }] },
    {
      ...answerOptions(question, info),
      origin: parts.origin,
      idleMs: parts.idleMs,
      signal: AbortSignal.any([signal, late]),
      onFacts: (seen) => void (facts = seen),
      onSettled: ({ usage }) => {
        const model = { provider: info.provider, id: info.id };
        if (hasTokens(usage)) parts.spent({ what: "tool", tool: parts.tool, model, calls: 1, usage });
      },
    },
  ).result();
  if (signal.aborted) return { why: "it was stopped" };
  if (message.stopReason === "error" || message.stopReason === "aborted") {
    const text = late.aborted
      ? `The model timed out: there was no answer within ${question.timeoutMs / 1000} s.`
      : (message.errorMessage ?? message.stopReason);
    const failure = classifyFailure(text, facts);
    return { why: failure.message, failure };
  }
  const model = { provider: info.provider, id: info.id };
  return { text: textOfAnswer(message), model, isCut: message.stopReason === "length" };
}

function answerOptions({ maxTokens, temperature, thinking = "off" }: SideQuestion, info: ModelInfo) {
  return {
    ...(maxTokens !== undefined && { maxTokens: Math.min(info.maxTokens, maxTokens) }),
    ...(temperature !== undefined && { temperature }),
    ...(thinking !== "off" && info.reasoning && { reasoning: thinking }),
  };
}

/** The parts in the form that this model takes, or why the model cannot take them. */
async function contentFor(
  { pi, info }: ModelHandle,
  shown: readonly SidePart[],
  { images: loader, maxSide }: AsideParts,
): Promise<readonly (TextContent | ImageContent)[] | NotAsked> {
  const policy = policyFor({ ...pi, input: info.input });
  const images = shown.filter(({ type }) => type === "image").length;
  if (images > policy.imageLimits.count) return { why: `it takes at most ${policy.imageLimits.count} images at once` };
  const content: (TextContent | ImageContent)[] = [];
  for (const part of shown) {
    if (part.type === "text") content.push(part);
    else if (part.type === "pdf") content.push(encoded(part.bytes, "application/pdf"));
    else {
      const image = await loader?.fit(part.bytes, { policy, maxSide });
      if (!image) return { why: notFitting(part, policy.imageLimits.each) };
      content.push(image);
    }
  }
  const size = content.reduce((sum, part) => sum + (part.type === "image" ? part.data.length : 0), 0);
  return size > policy.imageLimits.total ? { why: tooMuch(size, policy.imageLimits.total) } : content;
}

const encoded = (bytes: Uint8Array, mimeType: string): ImageContent => ({
  type: "image",
  data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"),
  mimeType,
});

const tooMuch = (size: number, most: number): string =>
  `all files together have ${megabytes(size)} MB when they are encoded, and it takes ${megabytes(most)} MB in one request`;

const megabytes = (bytes: number): string => (bytes / 1_048_576).toFixed(1);

/** `each`: the most characters of Base64. */
const notFitting = ({ name, bytes }: { name: string; bytes: Uint8Array }, each: number): string =>
  `it does not take ${name} (${megabytes(bytes.byteLength)} MB; it takes ${megabytes((each / 4) * 3)} MB, in fewer types and ` +
  "pixels than this file may have). The package sharp beside the gateway makes images smaller: npm install sharp";
