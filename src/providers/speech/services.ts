import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { errorCode } from "../../utils/missing.ts";
import type { SpeechProvider } from "./config.ts";

/** Request to a service. */
export interface ServiceAsk {
  readonly text: string;
  readonly voice: string | undefined;
  readonly signal: AbortSignal;
}

/** Sound of a service. */
export interface Sound {
  readonly bytes: Uint8Array;
  /** Ending without the dot. */
  readonly ending: string;
}

/** A service with everything that a request needs. */
interface ReadyService {
  readonly baseUrl: string;
  readonly model: string;
  readonly voice: string;
  /** Empty without one. */
  readonly key: string;
}

/** The signal is the caller's: of a `Request` that was made with one, Node loses it when the object is collected. */
interface SpeechRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

/** A service whose address, model and voice need not be configured. */
interface KnownService {
  readonly baseUrl: string;
  readonly model: string;
  readonly voice: string;
  /** The variable that may have the service's key. */
  readonly keyVariable: string;
  request(ask: ServiceAsk, service: ReadyService): SpeechRequest;
  readonly ending: string;
}

/** Bytes of one answer; an hour of speech is about 30 MB. */
const MOST_BYTES = 32 * 1024 * 1024;

// https://platform.openai.com/docs/api-reference/audio/createSpeech
const openai: KnownService = {
  baseUrl: "https://api.openai.com/v1",
  model: "gpt-4o-mini-tts",
  voice: "alloy",
  keyVariable: "OPENAI_API_KEY",
  ending: "ogg",
  request: ({ text }, { baseUrl, model, voice, key }) => ({
    url: `${baseUrl.replace(/\/+$/, "")}/audio/speech`,
    headers: key === "" ? {} : { authorization: `Bearer ${key}` },
    // Opus in an Ogg file is what chats show as a voice message.
    body: { model, voice, input: text, response_format: "opus" },
  }),
};

// https://elevenlabs.io/docs/api-reference/text-to-speech/convert
const elevenlabs: KnownService = {
  baseUrl: "https://api.elevenlabs.io",
  model: "eleven_multilingual_v2",
  voice: "pMsXgVXv3BLzUgSXRplE",
  keyVariable: "ELEVENLABS_API_KEY",
  ending: "mp3",
  request: ({ text }, { baseUrl, model, voice, key }) => ({
    url: `${baseUrl.replace(/\/+$/, "")}/v1/text-to-speech/${encodeURIComponent(voice)}?output_format=mp3_44100_128`,
    headers: { "xi-api-key": key },
    body: { text, model_id: model },
  }),
};

/** Services that are known by name; another one speaks OpenAI's API at its own address. */
const KNOWN: Readonly<Record<string, KnownService>> = { openai, elevenlabs };

const known = (name: string): KnownService | undefined => (Object.hasOwn(KNOWN, name) ? KNOWN[name] : undefined);

/** The variable that may have the key of a service. */
export const keyVariableOf = (name: string): string | undefined => known(name)?.keyVariable;

/** Why a service cannot be asked as it is configured; undefined when it can. */
export function whyUnusable(name: string, given: SpeechProvider, key: string | undefined): string | undefined {
  if (given.command) return undefined;
  if (given.baseUrl !== undefined) return undefined;
  const service = known(name);
  if (!service) return `messages.tts.providers.${name} needs a baseUrl or a command`;
  return key === undefined
    ? `it has no key: set messages.tts.providers.${name}.apiKey or ${service.keyVariable}`
    : undefined;
}

/** The model that a service is asked for, and its address. */
export function modelOf(name: string, { model, baseUrl }: SpeechProvider) {
  const service = known(name) ?? openai;
  return { model: model ?? service.model, url: baseUrl ?? service.baseUrl };
}

/** Asks one service. Rejects with a text that has no secret. */
export async function askService(
  name: string,
  given: SpeechProvider,
  key: string | undefined,
  ask: ServiceAsk,
): Promise<Sound> {
  if (given.command) return runCommand(given.command, ask);
  const service = known(name) ?? openai;
  const voice = ask.voice ?? given.voice ?? service.voice;
  const { model, url: baseUrl } = modelOf(name, given);
  const { url, headers, body } = service.request(ask, { baseUrl, model, voice, key: key ?? "" });
  const response = await fetch(url, {
    method: "POST",
    redirect: "error",
    signal: ask.signal,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`the service answered ${response.status}`);
  }
  return { bytes: await readAll(response), ending: endingOf(response, service.ending) };
}

const ENDINGS: Readonly<Record<string, string>> = {
  "audio/mpeg": "mp3",
  "audio/mp3": "mp3",
  "audio/ogg": "ogg",
  "audio/opus": "ogg",
  "audio/wav": "wav",
  "audio/x-wav": "wav",
  "audio/aac": "aac",
  "audio/flac": "flac",
};

/** A server that speaks OpenAI's API may answer in another format than it was asked for. */
function endingOf({ headers }: Response, fallback: string): string {
  const [type = ""] = (headers.get("content-type") ?? "").split(";");
  return ENDINGS[type.trim().toLowerCase()] ?? fallback;
}

async function readAll(response: Response): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.byteLength;
    if (size > MOST_BYTES) throw new Error(`the service answered with more than ${MOST_BYTES} bytes`);
    parts.push(part);
  }
  if (size === 0) throw new Error("the service answered with nothing");
  return Buffer.concat(parts);
}

const PLACE = "{{OutputPath}}";

/** Runs a program without a shell; the text is its input, never one of its arguments. */
async function runCommand(command: readonly string[], { text, signal }: ServiceAsk): Promise<Sound> {
  const folder = await mkdtemp(join(tmpdir(), "openclaw-speech-"));
  try {
    const path = join(folder, "speech");
    const placed = command.some((part) => part.includes(PLACE)) ? command : [...command, PLACE];
    const [program = "", ...args] = placed.map((part) => part.replaceAll(PLACE, path));
    await finish(program, args, text, signal);
    const [file] = await readdir(folder);
    if (file === undefined) throw new Error(`${basename(program)} has written no file`);
    const bytes = await readFile(join(folder, file));
    if (bytes.length === 0 || bytes.length > MOST_BYTES)
      throw new Error(`${basename(program)} has written ${bytes.length} bytes`);
    const dot = file.lastIndexOf(".");
    return { bytes, ending: dot < 0 ? "wav" : file.slice(dot + 1) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function finish(program: string, args: readonly string[], text: string, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = spawn(program, args, { stdio: ["pipe", "ignore", "ignore"], signal, killSignal: "SIGKILL" });
  child.once("error", (error) =>
    reject(new Error(`${basename(program)} could not be run (${errorCode(error)})`, { cause: error })),
  );
  child.once("close", (code) =>
    code === 0 ? resolve() : reject(new Error(`${basename(program)} ended with ${code}`)),
  );
  // A program that does not read its input ends by itself.
  child.stdin.on("error", () => undefined);
  child.stdin.end(text);
  return promise;
}
