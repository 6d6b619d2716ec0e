import { z } from "zod";
import type { Speaker } from "../../types/media/speech.ts";
import type { Tool, ToolContribution } from "../../types/run/tool.ts";
import { defineTool, errorResult, textResult } from "../define.ts";
import { errorText } from "../../utils/text/error-text.ts";

const TTS_TOOL = "tts";

const MOST_MS = 600_000;
const input = z.lazy(() =>
  z.object({
    text: z.string().trim().min(1).max(20_000).describe("What is said, as plain text"),
    channel: z.string().optional().describe("Not needed: the format suits every channel"),
    timeoutMs: z.int().min(1000).max(MOST_MS).optional(),
  }),
);

/** The tool `tts`: turns texts into voice messages. */
export const ttsContribution = (speaker: Speaker): ToolContribution => ({
  name: TTS_TOOL,
  appearance: () => (speaker.services.length > 0 ? "" : false),
  forRun: () => ttsTool(speaker),
});

/** Turns a text into a voice message that the agent attaches to its answer. Undefined without a service. */
function ttsTool(speaker: Speaker): Tool | undefined {
  if (speaker.services.length === 0) return undefined;
  return defineTool<z.output<typeof input>>({
    name: TTS_TOOL,
    label: "Speech",
    description:
      "Turn a text into a voice message. Put the two marks that the result names into your answer to send it.",
    input,
    hasSideEffects: true,
    async run({ text, timeoutMs }, { workspace, signal, agentId, sessionKey, runId }) {
      const origin = { cause: "message", agentId, sessionKey, runId } as const;
      try {
        const speech = await speaker.speak({ text, timeoutMs, signal, origin });
        const { provider, bytes } = speech;
        const path = await speaker.keep(speech, workspace);
        const shown = `Made by ${provider}. To send it, write into your answer:\n[[audio_as_voice]]\n[[media:${path}]]`;
        return textResult(shown, { path, provider, bytes: bytes.byteLength, audioAsVoice: true });
      } catch (error) {
        return errorResult(`The text could not be spoken: ${errorText(error)}`);
      }
    },
  });
}
