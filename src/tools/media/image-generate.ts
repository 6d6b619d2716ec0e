import { z } from "zod";
import {
  BACKGROUNDS,
  IMAGE_FORMATS,
  QUALITIES,
  RESOLUTIONS,
  type DrawAsk,
  type Drawing,
} from "../../types/media/drawing.ts";
import { modelName } from "../../types/run/model.ts";
import type { Tool, ToolContext, ToolResult, ToolScene } from "../../types/run/tool.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { shorten } from "../../utils/text/shorten.ts";
import { wrapUntrusted } from "../../utils/text/untrusted.ts";
import { defineTool, errorResult, textResult } from "../define.ts";
import { asideOf, mediaModelsFor } from "./ask.ts";
import { starterOf } from "../process/starter.ts";
import { DRAW_MS } from "./config.ts";
import type { DrawJob, DrawJobs } from "./draw-jobs.ts";
import { fetchesFrom, readSource, type SourcePorts, type Source } from "./source.ts";

const IMAGE_GENERATE = "image_generate";
const FOLDER = ".openclaw/images";
const MOST_IMAGES = 16;
/** Most megabytes of an image that is changed. */
const MOST_MB = 20;
const MOST_MS = 900_000;

const input = z.lazy(() =>
  z.object({
    action: z
      .enum(["generate", "status", "list"])
      .default("generate")
      .describe("status: drawings in the background; list: the models"),
    prompt: z.string().trim().min(1).max(32_000).optional().describe("What the image shows, or what to change"),
    image: z.string().min(1).optional().describe("Path, file:, data: or web address of an image to change"),
    images: z.array(z.string().min(1)).max(MOST_IMAGES).optional().describe("Several"),
    model: z.string().min(1).optional().describe("provider/model"),
    filename: z.string().min(1).max(200).optional(),
    size: z
      .string()
      .regex(/^\d{2,5}x\d{2,5}$/)
      .optional()
      .describe("Such as 1024x1536"),
    aspectRatio: z
      .string()
      .regex(/^\d{1,2}(?:\.\d)?:\d{1,2}(?:\.\d)?$/)
      .optional()
      .describe("Such as 16:9"),
    resolution: z.enum(RESOLUTIONS).optional(),
    quality: z.enum(QUALITIES).optional(),
    outputFormat: z.enum(IMAGE_FORMATS).optional(),
    background: z.enum(BACKGROUNDS).optional(),
    count: z.int().min(1).max(4).default(1),
    timeoutMs: z.int().min(1000).max(MOST_MS).optional(),
  }),
);
type Input = z.output<typeof input>;

export interface DrawPorts extends SourcePorts {
  /** Keeps drawings that take longer than a call waits; when unset, each call waits for its images. */
  readonly jobs?: DrawJobs | undefined;
  /** Writes a file into a workspace, from which answers may attach it. Resolves with its path there. */
  keep(
    file: { readonly folder: string; readonly name: string; readonly bytes: Uint8Array },
    workspace: string,
  ): Promise<string>;
}

interface Parts {
  readonly scene: ToolScene;
  readonly ports: DrawPorts;
}

/**
 * The tool `image_generate`: draws with the models of `agents.defaults.imageGenerationModel`, and keeps the images in
 * the workspace.
 */
export function imageGenerateTool(scene: ToolScene, ports: DrawPorts): Tool | undefined {
  if (!scene.agent.media?.draw) return undefined;
  return defineTool({
    name: IMAGE_GENERATE,
    label: "Draw",
    description:
      "Draw images, or change given ones. It costs money, so draw what was asked for. Put the marks that the result names into " +
      "your answer to send them.",
    input,
    hasSideEffects: true,
    riskOf: async (wanted) => {
      const what = fetchesFrom(refsIn(wanted));
      return what === undefined ? undefined : { use: "network", what };
    },
    async run(wanted, context) {
      if (wanted.action === "list") return listed(scene);
      if (wanted.action === "status") return textResult(statusText(ports.jobs?.list(starterOf(scene)) ?? []));
      return begin(wanted, context, { scene, ports });
    },
  });
}

/** Draws. A drawing that takes long continues in the background, where the gateway keeps such drawings. */
async function begin(wanted: Input, context: ToolContext, parts: Parts): Promise<ToolResult> {
  const { jobs } = parts.ports;
  if (!jobs) return draw(wanted, context, parts);
  const of = { name: shorten(wanted.prompt ?? "", NAME_CHARS), starter: starterOf(parts.scene), runId: context.runId };
  const made = await jobs.run(of, (signal) => draw(wanted, { ...context, signal }, parts), context.signal);
  if (!("startedAt" in made)) return made;
  const text = `The drawing goes on in the background (drawing ${made.id}). You hear of its end by itself: do not wait, and do not draw it again.`;
  return textResult(text, { status: "running", taskId: made.id });
}

const NAME_CHARS = 60;

function statusText(jobs: readonly DrawJob[]): string {
  if (jobs.length === 0) return "No drawing is in the background.";
  return jobs.map((job) => `${job.id} "${job.name}": ${job.end ? endText(job.end.result) : "goes on"}`).join("\n");
}

/** System event for a conversation whose drawing has ended. */
export function drawnText(job: DrawJob): string {
  const seconds = Math.round(((job.end?.at ?? job.startedAt) - job.startedAt) / 1000);
  const result = job.end ? endText(job.end.result) : "";
  return `The drawing "${job.name}" (drawing ${job.id}) ended after ${seconds} seconds:\n${result}`;
}

const endText = ({ content }: ToolResult): string =>
  content.map((part) => (part.type === "text" ? part.text : "")).join("\n");

async function listed({ agent: { media, allowedModels = [] } }: ToolScene): Promise<ToolResult> {
  const models = (media?.draw?.models ?? []).map(modelName);
  const more = allowedModels.filter((name) => !models.includes(name));
  const also = more.length === 0 ? "" : ` The config also allows ${more.join(", ")}; not every model draws.`;
  return textResult(`Asked in this order: ${models.join(", ")}.${also}`, { models });
}

async function draw(wanted: Input, context: ToolContext, { scene, ports }: Parts): Promise<ToolResult> {
  const { prompt, model, timeoutMs } = wanted;
  if (prompt === undefined) throw new Error("Say in prompt what the image shows.");
  const refs = refsIn(wanted);
  if (refs.length > MOST_IMAGES) throw new Error(`At most ${MOST_IMAGES} images can be given in one call.`);
  const configured = scene.agent.media?.draw;
  const models = mediaModelsFor(model, configured, scene.agent) ?? [];
  const aside = asideOf(context);
  const images = await readImages({ refs, mostMb: MOST_MB }, context, { scene, ports });
  const question = {
    ask: askOf(prompt, images, wanted),
    models,
    timeoutMs: timeoutMs ?? configured?.timeoutMs ?? DRAW_MS,
  };
  const isForeign = images.some((image) => image.isForeign);
  try {
    const drawing = await aside.draw(question, context.signal);
    return await kept(drawing, wanted, { workspace: context.workspace, ports });
  } catch (error) {
    context.signal.throwIfAborted();
    return failed(errorText(error), isForeign);
  }
}

function askOf(prompt: string, images: DrawAsk["images"], wanted: Input): DrawAsk {
  const { size, aspectRatio, resolution, quality, outputFormat, background, count } = wanted;
  return { prompt, images, count, style: { size, aspectRatio, resolution, quality, outputFormat, background } };
}

/** The result of a failed drawing. A model's refusal may repeat content of an image that somebody sent. */
function failed(why: string, isForeign: boolean): ToolResult {
  if (!isForeign) return errorResult(`No image was made: ${why}`);
  const external = { untrusted: true, source: IMAGE_GENERATE, provider: IMAGE_GENERATE, wrapped: true };
  return errorResult(`No image was made:\n${wrapUntrusted(why, { label: "Image" })}`, { externalContent: external });
}

async function kept(
  { images, model, leftOut, missing }: Drawing,
  { filename }: Input,
  { workspace, ports }: { readonly workspace: string; readonly ports: DrawPorts },
): Promise<ToolResult> {
  const name = plainName(filename);
  const paths: string[] = [];
  for (const [at, { bytes, ending }] of images.entries()) {
    const numbered = images.length === 1 ? name : `${name}-${at + 1}`;
    paths.push(await ports.keep({ folder: FOLDER, name: `${numbered}.${ending}`, bytes }, workspace));
  }
  const lines = [
    `Made ${images.length === 1 ? "an image" : `${images.length} images`} with ${modelName(model)}. To send, write into your answer:`,
    ...paths.map((path) => `[[media:${path}]]`),
    ...(leftOut.length > 0 ? [`Its service has no setting for ${leftOut.join(", ")}.`] : []),
    ...(missing === undefined ? [] : [`There are fewer than were wanted: ${missing}`]),
  ];
  return textResult(lines.join("\n"), { paths, model: modelName(model), count: images.length, leftOut });
}

/** A name without folders, without its ending, and without characters that have a meaning for marks and shells. */
function plainName(filename = "image"): string {
  const last = filename.split(/[/\\]/).at(-1) ?? "";
  const plain = last.replace(/\.[a-z0-9]{1,5}$/i, "").replaceAll(/[^\p{L}\p{N}_-]+/gu, "-");
  return plain.replaceAll(/^-+|-+$/g, "").slice(0, 60) || "image";
}

const MEGABYTE = 1_048_576;
/** Most megabytes of all images of a call together. */
const MOST_OF_ALL_MB = 60;

interface ImageSource extends Source {
  readonly mime: string;
}

/** The images of both parameters, `image` and `images`, each once. */
export const refsIn = ({
  image,
  images = [],
}: {
  readonly image?: string | undefined;
  readonly images?: readonly string[] | undefined;
}): readonly string[] => [...new Set([...(image === undefined ? [] : [image]), ...images])];

/** Reads the images that a call names. Rejects with a text for the model when an image cannot be read, or is none. */
export async function readImages(
  { refs, mostMb }: { readonly refs: readonly string[]; readonly mostMb: number },
  { workspace, signal }: Pick<ToolContext, "workspace" | "signal">,
  { scene, ports }: { readonly scene: ToolScene; readonly ports: SourcePorts },
): Promise<readonly ImageSource[]> {
  const mayFetch = scene.names?.includes("web_fetch") === true;
  const place = { files: scene.files, workspace, mayFetch, maxBytes: mostMb * MEGABYTE, signal };
  const sources: ImageSource[] = [];
  let size = 0;
  for (const ref of refs) {
    const source = await readSource(ref, place, ports);
    size += source.bytes.byteLength;
    if (size > MOST_OF_ALL_MB * MEGABYTE) throw new Error(`All images together have more than ${MOST_OF_ALL_MB} MB.`);
    sources.push({ ...source, mime: await mimeOf(source) });
  }
  return sources;
}

async function mimeOf({ bytes, name }: Source): Promise<string> {
  const { fileTypeFromBuffer } = await import("file-type");
  const found = await fileTypeFromBuffer(bytes);
  if (found?.mime.startsWith("image/") === true) return found.mime;
  throw new Error(`${name} is no image${found ? `: its content is ${found.mime}` : ""}.`);
}
