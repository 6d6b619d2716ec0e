import { type Speaker, SPEECH_LEVELS, speechLevelOf, type SpeechLevel } from "../../types/media/speech.ts";
import { isDiskError } from "../../store/disk.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { originIn, type CommandAnswer, type CommandContext } from "./kit/command.ts";
import { storeLevel } from "./kit/store-setting.ts";

const SHOWN: Readonly<Record<SpeechLevel, string>> = {
  off: "Answers come as text.",
  always: "Each answer also comes as a voice message.",
  inbound: "Answers to voice messages also come as voice messages.",
  tagged: "I decide which answers also come as voice messages.",
};

const USAGE = "Use off, always, inbound, tagged or default; or audio and a text, which I then speak.";
/** Words that are no level, and ask how the command is used. */
const ASKS = new Set(["help", "audio", "say"]);
const NO_SERVICE = "Nothing is set up that could speak: messages.tts.providers.";

/** Shows or sets which answers are spoken in this chat, or speaks one text. */
export async function setSpeech(context: CommandContext): Promise<CommandAnswer> {
  const [, text] = /^\s*(?:audio|say)\s+(\S[^]*)$/i.exec(context.args) ?? [];
  if (text !== undefined) return speak(text, context);
  const word = context.args.trim().toLowerCase();
  if (ASKS.has(word)) return { text: `${shownOf(context)} ${USAGE}` };
  const asked = word === "status" ? { ...context, args: "" } : context;
  const refused = await storeLevel(asked, "ttsAuto", { levels: SPEECH_LEVELS, levelOf: speechLevelOf });
  if (refused !== undefined) return { text: refused };
  return { text: shownOf(context) };
}

function shownOf({ key, ports }: CommandContext): string {
  const own = speechLevelOf(ports.storage.sessions.peek(key)?.ttsAuto);
  const now = own ?? ports.prompts.speaker.levelOf(ports.settings().agentOf(key)) ?? "off";
  const services = ports.prompts.speaker.services;
  const by = services.length > 0 ? `Spoken by ${services.join(", ")}.` : NO_SERVICE;
  return `Speech: ${now} (${own ? "set here" : "as configured"}). ${SHOWN[now]} ${by}`;
}

/** Speaks one text. A speech costs somebody money or processor time, so a conversation has one at a time. */
async function speak(text: string, context: CommandContext): Promise<CommandAnswer> {
  const {
    prompts: { speaker },
  } = context.ports;
  const { speeches } = context.commands;
  if (speaker.services.length === 0) return { text: NO_SERVICE };
  if (speeches.isBusy(context.key))
    return { text: "I still speak the text before. Send this one again when it is there." };
  try {
    return await speeches.run(context.key, () => spoken(text, speaker, context));
  } catch (error) {
    // The command is tried again when there is space. Until then the chat gets a notice about the disk.
    if (isDiskError(error)) throw error;
    return { text: failureText(error, context) };
  }
}

async function spoken(text: string, speaker: Speaker, context: CommandContext): Promise<CommandAnswer> {
  const { ports, signal } = context;
  const { bytes, mime, name } = await speaker.speak({ text, signal, origin: originIn(context) });
  const stored = await ports.storage.media.put(bytes, { mime, name });
  const source = { at: "store", id: stored.id } as const;
  return { text: "🔊", file: { kind: "voice", name, mime: stored.mime, bytes: stored.bytes, source } };
}

/**
 * The answer when a text could not be spoken. Messages of services and programs may name addresses of this machine, so
 * only an owner in a direct chat sees them.
 */
const failureText = (error: unknown, { isOwner, message }: CommandContext): string =>
  isOwner && message.from.chat.kind === "direct"
    ? `⚠️ The text could not be spoken: ${errorText(error)}.`
    : "⚠️ The text could not be spoken. The operator can see why in the gateway's log.";
