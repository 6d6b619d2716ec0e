import { t } from "../words/words.ts";

/** Types in which browsers record, the preferred one first. */
const TYPES = ["audio/webm;codecs=opus", "audio/mp4", "audio/ogg;codecs=opus", "audio/webm"];
/** Enough for speech; an hour has 14 MB. */
const BITS_PER_SECOND = 32_000;
const PIECE_MS = 1000;

/** A finished recording. */
export interface Recorded {
  readonly file: File;
  readonly durationMs: number;
}

/** A running recording. */
export interface OpenRecording {
  readonly beganAt: number;
  /** The loudest sample of the last moment, from 0 to 1; undefined where the browser cannot measure it. */
  level(): number | undefined;
  /** Ends it and answers what was recorded; undefined when that is nothing. */
  stop(): Promise<Recorded | undefined>;
  /** Ends it without a result. */
  cancel(): void;
}

/**
 * Begins to record with the microphone; `full` is called when the recording has nearly `limit` bytes, and when the microphone goes
 * away. Rejects with an `Error` whose message says what the person can do.
 */
export async function record(limit: number, full: () => void): Promise<OpenRecording> {
  const stream = await microphone();
  const type = TYPES.find((one) => MediaRecorder.isTypeSupported(one));
  const recorder = new MediaRecorder(stream, {
    audioBitsPerSecond: BITS_PER_SECOND,
    ...(type !== undefined && { mimeType: type }),
  });
  const pieces: Blob[] = [];
  const meter = levelMeter(stream);
  const release = (): void => {
    for (const track of stream.getTracks()) track.stop();
    meter.close();
  };
  recorder.addEventListener("dataavailable", ({ data }) => {
    pieces.push(data);
    if (pieces.reduce((sum, piece) => sum + piece.size, 0) > limit * 0.95) full();
  });
  for (const track of stream.getTracks()) track.addEventListener("ended", full);
  recorder.start(PIECE_MS);
  const beganAt = Date.now();
  return {
    beganAt,
    level: meter.level,
    cancel: () => {
      if (recorder.state !== "inactive") recorder.stop();
      release();
    },
    stop: async () => {
      const durationMs = Date.now() - beganAt;
      await ended(recorder);
      release();
      const file = fileOf(pieces, recorder.mimeType);
      return file.size === 0 ? undefined : { file, durationMs };
    },
  };
}

/** Samples of a moment: with 48,000 in a second, somewhat more than half of one, so that reading it now and then misses nothing. */
const MOMENT = 32_768;

/** Measures how loud a stream is. Without it a recording is as good, so that it never fails. */
function levelMeter(stream: MediaStream): { level(): number | undefined; close(): void } {
  try {
    const context = new AudioContext();
    const analyser = new AnalyserNode(context, { fftSize: MOMENT });
    context.createMediaStreamSource(stream).connect(analyser);
    const samples = new Float32Array(MOMENT);
    const level = (): number | undefined => {
      if (context.state !== "running") return undefined;
      analyser.getFloatTimeDomainData(samples);
      return samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
    };
    return { level, close: () => void context.close() };
  } catch {
    return { level: () => undefined, close: () => undefined };
  }
}

async function microphone(): Promise<MediaStream> {
  // Browsers give it only to pages with https, and to those of this machine.
  if (!globalThis.isSecureContext)
    throw new Error(
      t(
        "Browsers give the microphone only to pages with https and to those of this machine. Open the page over https, for example behind a proxy.",
      ),
    );
  try {
    return await navigator.mediaDevices.getUserMedia({ audio: true });
  } catch (error) {
    throw new Error(whyNot(error), { cause: error });
  }
}

function whyNot(error: unknown): string {
  switch (error instanceof DOMException ? error.name : "") {
    case "NotAllowedError":
      return t(
        "The browser does not let this page use the microphone. Allow it in the site's settings, which the sign before the address opens, and press the button again.",
      );
    case "NotFoundError":
      return t("No microphone was found. Connect one and press the button again.");
    case "NotReadableError":
      return t(
        "The microphone does not answer; another program may use it. Close that program and press the button again.",
      );
    default:
      return t("The microphone cannot be used: {reason}", {
        reason: error instanceof Error ? error.message : String(error),
      });
  }
}

/** The last piece comes before the end. */
const ended = (recorder: MediaRecorder): Promise<void> =>
  new Promise((resolve) => {
    if (recorder.state === "inactive") return resolve();
    recorder.addEventListener("stop", () => resolve(), { once: true });
    recorder.stop();
  });

function fileOf(pieces: readonly Blob[], mimeType: string): File {
  const [type = "audio/webm"] = mimeType.split(";");
  const ending = type === "audio/mp4" ? "m4a" : (type.split("/")[1] ?? "webm");
  return new File([...pieces], `${t("Voice message")}.${ending}`, { type });
}
