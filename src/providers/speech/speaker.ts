import type { AgentId } from "../../types/ids.ts";
import type { Log } from "../../types/log.ts";
import type { Speaker, Speech, SpeechAsk, SpeechLevel } from "../../types/media/speech.ts";
import { Slots } from "../../utils/keyed-queue.ts";
import { isLoopbackName } from "../../server/transport/origin.ts";
import type { ModelMeter } from "../../types/run/model-meter.ts";
import { keepInWorkspace } from "../../utils/files/keep-in-workspace.ts";
import { errorText } from "../../utils/text/error-text.ts";
import type { SpeechConfig, SpeechProvider } from "./config.ts";
import { askWithin } from "../budget/service-call.ts";
import { askService, keyVariableOf, modelOf, type Sound, whyUnusable } from "./services.ts";

export interface SpeakerPorts {
  readonly log: Pick<Log, "warn">;
  config(): SpeechConfig;
  /** The key of the model provider of this name; undefined when it has none. */
  keyOf(provider: string): string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reserves the cost of each request to a service; nothing is limited when unset. */
  readonly reserve?: ModelMeter["reserve"];
}

/** Texts that are spoken at once: each may be a program of this machine. */
const MOST_AT_ONCE = 4;
const FOLDER = ".openclaw/speech";

/** Speaks texts with the services of the config, one after the other until one has made it. */
export class Services implements Speaker {
  readonly #ports: SpeakerPorts;
  readonly #slots = new Slots(() => MOST_AT_ONCE);

  constructor(ports: SpeakerPorts) {
    this.#ports = ports;
  }

  levelOf(_agent: AgentId): SpeechLevel {
    const { auto, enabled } = this.#ports.config();
    return enabled ? auto : "off";
  }

  get services(): readonly string[] {
    return this.#usable().map(([name]) => name);
  }

  speak(ask: SpeechAsk): Promise<Speech> {
    return this.#slots.use(async () => {
      if (ask.signal?.aborted === true) throw new Error("the speech was stopped");
      return this.#speakNow(ask);
    });
  }

  async #speakNow({ text, voice, timeoutMs, signal, origin }: SpeechAsk): Promise<Speech> {
    const { maxTextLength, timeoutMs: configured } = this.#ports.config();
    const why: string[] = [];
    for (const [name, given, key] of this.#usable()) {
      const late = AbortSignal.timeout(timeoutMs ?? configured);
      const stop = signal ? AbortSignal.any([signal, late]) : late;
      try {
        const asked = { text: cut(text, maxTextLength), voice, signal: stop };
        const ask = () => askService(name, given, key, asked);
        return speechOf(await this.#metered(name, given, { origin, length: asked.text.length }, ask), name);
      } catch (error) {
        if (signal?.aborted === true) throw new Error("the speech was stopped", { cause: error });
        const reason = late.aborted ? "it took too long" : errorText(error);
        this.#ports.log.warn("speech not made", { service: name, error: reason });
        why.push(`${name}: ${reason}`);
      }
    }
    throw new Error(why.length > 0 ? why.join("; ") : "no service of messages.tts.providers can be asked");
  }

  /** A command of this machine costs nothing. A character of the text counts as a token. */
  #metered(
    name: string,
    given: SpeechProvider,
    { origin, length }: Pick<SpeechAsk, "origin"> & { readonly length: number },
    ask: () => Promise<Sound>,
  ): Promise<Sound> {
    const { reserve } = this.#ports;
    if (!reserve || given.command) return ask();
    const { model, url } = modelOf(name, given);
    const { costPerMillionChars = isLoopbackName(new URL(url).host) ? 0 : undefined } = given;
    const price = costPerMillionChars === undefined ? undefined : costPerMillionChars / 1_000_000;
    return askWithin(reserve, { origin, provider: name, model, most: length, price }, async () => ({
      result: await ask(),
      taken: length,
    }));
  }

  keep({ name, bytes }: Speech, workspace: string): Promise<string> {
    return keepInWorkspace({ folder: FOLDER, name, bytes }, workspace);
  }

  /** The services that can be asked, the chosen one first. */
  #usable(): readonly (readonly [string, SpeechProvider, string | undefined])[] {
    const { enabled, provider, providers } = this.#ports.config();
    if (!enabled) return [];
    const all = Object.entries(providers).toSorted(([a], [b]) => Number(b === provider) - Number(a === provider));
    return all
      .map(([name, given]) => [name, given, this.#keyOf(name, given)] as const)
      .filter(([name, given, key]) => whyUnusable(name, given, key) === undefined);
  }

  #keyOf(name: string, { apiKey }: SpeechProvider): string | undefined {
    const variable = keyVariableOf(name);
    return (
      apiKey?.reveal() ?? this.#ports.keyOf(name) ?? (variable === undefined ? undefined : this.#ports.env[variable])
    );
  }
}

/** Cut at a word. */
function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = text.slice(0, most);
  const space = head.search(/\s\S*$/);
  return space > most / 2 ? head.slice(0, space) : head;
}

const MIMES: Readonly<Record<string, string>> = {
  ogg: "audio/ogg",
  opus: "audio/ogg",
  mp3: "audio/mpeg",
  wav: "audio/wav",
  aac: "audio/aac",
  m4a: "audio/mp4",
  flac: "audio/flac",
};

const speechOf = ({ bytes, ending }: Sound, provider: string): Speech => ({
  bytes,
  mime: MIMES[ending] ?? "audio/mpeg",
  name: `speech.${ending}`,
  provider,
});
