import { z } from "zod";
import type { Log } from "../types/log.ts";
import type { MediaKind } from "../types/chat/message.ts";
import { errorText } from "../utils/text/error-text.ts";
import type { Transcription } from "./audio-config.ts";

/** A recording in the media store. */
export interface Recording {
  readonly kind: MediaKind;
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly mime: string;
}

/** Transcribes a recording. Undefined when there is no speech or transcription fails: the recording stays a file. Never rejects. */
export type Transcribe = (recording: Recording, signal?: AbortSignal) => Promise<{ readonly text: string } | undefined>;

/** Undefined when the config names neither a command nor a service. */
export function createTranscriber(config: Transcription | undefined, log: Log): Transcribe | undefined {
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
        : await ask(config, recording, signal);
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

async function run(command: readonly string[], path: string, signal: AbortSignal): Promise<string> {
  const { execFile } = await import("node:child_process");
  const { promisify } = await import("node:util");
  const placed = command.some((part) => part.includes(PATH_PLACEHOLDER)) ? command : [...command, PATH_PLACEHOLDER];
  const [program = "", ...args] = placed.map((part) => part.replaceAll(PATH_PLACEHOLDER, path));
  const { stdout } = await promisify(execFile)(program, args, { signal, maxBuffer: MOST_OUTPUT, encoding: "utf8" });
  return stdout;
}

const answer = z.object({ text: z.string() });

async function ask(config: Transcription, { bytes, mime, path }: Recording, signal: AbortSignal): Promise<string> {
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
  return answer.parse(await response.json()).text;
}
