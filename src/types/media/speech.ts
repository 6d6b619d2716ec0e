import type { MediaKind } from "../chat/message.ts";
import type { AgentId } from "../ids.ts";
import type { CallOrigin } from "../run/model-meter.ts";

/**
 * Answers that are spoken as well: none, all, answers to a spoken message, or answers that the agent marks with
 * `[[tts]]`.
 */
export const SPEECH_LEVELS = ["off", "always", "inbound", "tagged"] as const;
export type SpeechLevel = (typeof SPEECH_LEVELS)[number];

/** A level by its name, whatever its case; `on` means `always`, `voice` means `inbound`. */
export function speechLevelOf(word: unknown): SpeechLevel | undefined {
  if (typeof word !== "string") return undefined;
  const name = word.toLowerCase();
  if (name === "on") return "always";
  return name === "voice" ? "inbound" : SPEECH_LEVELS.find((level) => level === name);
}

/** A text as sound. */
export interface Speech {
  readonly bytes: Uint8Array;
  readonly mime: string;
  /** File name with the ending of its format. */
  readonly name: string;
  /** Service of the config that made the sound. */
  readonly provider: string;
}

export interface SpeechAsk {
  readonly text: string;
  /** The service's own name of a voice; that of the config when unset. */
  readonly voice?: string | undefined;
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Origin of the call, which pays for the speech. */
  readonly origin?: CallOrigin | undefined;
}

/** Speaks texts with the services of the config. */
export interface Speaker {
  /** Answers that an agent speaks where no conversation has its own level. */
  levelOf(agent: AgentId): SpeechLevel;
  /** Names of the services that can be asked, in their order; none when nothing is set up. */
  readonly services: readonly string[];
  /** Speaks a text. Rejects when no service has made the sound, with the reason of each and without a secret. */
  speak(ask: SpeechAsk): Promise<Speech>;
  /** Writes a speech into a workspace, from which answers may attach it; gives its path there. */
  keep(speech: Speech, workspace: string): Promise<string>;
}

/** A recording in the media store. */
export interface Recording {
  readonly kind: MediaKind;
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly mime: string;
  /** Origin of the call, which pays for the transcription. */
  readonly origin?: CallOrigin;
}
