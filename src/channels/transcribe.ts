import { z } from "zod";
import { askWithin, type ServiceCall } from "../providers/budget/service-call.ts";
import { isLoopbackName } from "../server/transport/origin.ts";
import { UNMETERED, type ModelMeter } from "../types/run/model-meter.ts";
import type { Log } from "../types/log.ts";
import { errorText } from "../utils/text/error-text.ts";
import type { Transcription } from "./audio-config.ts";
import { readJsonBytes } from "../utils/net/json-body.ts";
import type { Recording } from "../types/media/speech.ts";

/** Transcribes a recording. Undefined when there is no speech or transcription fails: the recording stays a file. Never rejects. */
export type Transcribe = (recording: Recording, signal?: AbortSignal) => Promise<{ readonly text: string } | undefined>;

/** Undefined when the config names neither a command nor a service. */
export function createTranscriber(
  config: Transcription | undefined,
  log: Log,
  reserve: ModelMeter["reserve"] = UNMETERED.reserve,
): Transcribe | undefined {
  if (!config || (config.command === undefined && config.baseUrl === undefined)) return undefined;
  return async (recording, stop) => {
    if (recording.kind !== "voice" && recording.kind !== "audio") return undefined;
    const bytes = recording.bytes.byteLength;
    if (bytes > config.maxBytes) {
      log.warn("recording not transcribed: too large", { bytes, maxBytes: config.maxBytes });
      return undefined;
    }
    const late = AbortSignal.timeout(config.timeoutSeconds * 1000);
    const signal = stop ? AbortSignal.any([stop, late]) : late;
    try {
      const transcript = config.command
        ? await run(config.command, recording.path, signal)
        : await askWithin(reserve, serviceCall(config, recording), () => ask(config, recording, signal));
      const text = transcript.trim();
      return text === "" ? undefined : { text };
    } catch (error) {
      log.warn("recording not transcribed", { bytes, error: errorText(error) });
      return undefined;
    }
  };
}

const PATH_PLACEHOLDER = "{{MediaPath}}";
/** Bytes of the command's output; an hour of speech is about 60 kB. */
const MOST_OUTPUT = 1_048_576;
/** Bytes of a service's answer. */
const MOST_ANSWER = 4_194_304;

async function run(command: readonly string[], path: string, signal: AbortSignal): Promise<string> {
  const { execFile } = await import("node:child_process");
  const { promisify } = await import("node:util");
  const placed = command.some((part) => part.includes(PATH_PLACEHOLDER)) ? command : [...command, PATH_PLACEHOLDER];
  const [program = "", ...args] = placed.map((part) => part.replaceAll(PATH_PLACEHOLDER, path));
  const { stdout } = await promisify(execFile)(program, args, { signal, maxBuffer: MOST_OUTPUT, encoding: "utf8" });
  return stdout;
}

/** A minute of sound counts as so many tokens. */
const TOKENS_OF_MINUTE = 1000;
/** Bytes of a minute with the lowest rate that speech is recorded in. */
const BYTES_OF_MINUTE = 60_000;

function serviceCall({ baseUrl = "", model, costPerMinute }: Transcription, { bytes, origin }: Recording): ServiceCall {
  const { host } = new URL(baseUrl);
  const perMinute = costPerMinute ?? (isLoopbackName(host) ? 0 : undefined);
  return {
    origin,
    provider: host,
    model,
    most: Math.ceil((bytes.byteLength / BYTES_OF_MINUTE) * TOKENS_OF_MINUTE),
    price: perMinute === undefined ? undefined : perMinute / TOKENS_OF_MINUTE,
  };
}

const answer = z.object({
  text: z.string(),
  usage: z
    .looseObject({ seconds: z.number().min(0).optional() })
    .optional()
    .catch(undefined),
});

async function ask(
  config: Transcription,
  { bytes, mime, path }: Recording,
  signal: AbortSignal,
): Promise<{ readonly result: string; readonly taken: number }> {
  const form = new FormData();
  const name = path.split(/[/\\]/).at(-1) ?? "recording";
  form.set("file", new Blob([Uint8Array.from(bytes)], { type: mime }), name);
  form.set("model", config.model);
  form.set("response_format", "json");
  if (config.language !== undefined) form.set("language", config.language);
  if (config.prompt !== undefined) form.set("prompt", config.prompt);
  const response = await fetch(`${config.baseUrl?.replace(/\/+$/, "")}/audio/transcriptions`, {
    method: "POST",
    body: form,
    signal,
    redirect: "error",
    headers: config.apiKey ? { authorization: `Bearer ${config.apiKey.reveal()}` } : {},
  });
  if (!response.ok) throw new Error(`the service answered ${response.status}`);
  const { text, usage } = answer.parse(
    JSON.parse(Buffer.from(await readJsonBytes(response.body, MOST_ANSWER)).toString("utf8")),
  );
  const seconds = usage?.seconds;
  // A recording without a length counts as the longest that it can be.
  return { result: text, taken: seconds === undefined ? Infinity : Math.ceil((seconds / 60) * TOKENS_OF_MINUTE) };
}
