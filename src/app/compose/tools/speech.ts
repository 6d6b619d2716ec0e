import { Services } from "../../../providers/speech/speaker.ts";
import type { Log } from "../../../types/log.ts";
import type { Speaker } from "../../../types/media/speech.ts";
import { own } from "../../../utils/own.ts";
import type { Live } from "../live.ts";

/** Speaks texts with the services of the present config. */
export const openSpeaker = (live: Live, log: Log): Speaker =>
  new Services({
    log,
    env: process.env,
    reserve: live.reserve,
    config: () => live.config.messages.tts,
    keyOf: (provider) => own(live.config.models.providers, provider)?.apiKey?.reveal(),
  });
