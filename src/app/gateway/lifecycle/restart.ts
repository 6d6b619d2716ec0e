import type { RestartPort } from "../../../dispatch/ports.ts";
import { systemClock } from "../../../types/clock.ts";
import { OpenClawError } from "../../../types/errors.ts";
import type { Live } from "../../compose/live.ts";
import type { LoadedConfig } from "../../config/load.ts";

/** Milliseconds in which the client that asked can read the answer before its connection closes. */
const DELAY_MS = 1000;

/** The gateway's restart by a command. */
export interface RestartDesk {
  readonly port: RestartPort;
  /** Resolves when a restart was asked for. Whoever started the gateway closes it and starts it again. */
  readonly asked: Promise<void>;
}

/** A config that cannot be read refuses a restart: the gateway would not come back. */
export function openRestart(live: Live, load: () => Promise<LoadedConfig>): RestartDesk {
  const asked = Promise.withResolvers<void>();
  return {
    asked: asked.promise,
    port: {
      async whyNot() {
        if (!live.config.commands.restart) return "`commands.restart` is off.";
        try {
          await load();
          return undefined;
        } catch (error) {
          if (!(error instanceof OpenClawError)) throw error;
          return `${error.message} ${error.fix}`;
        }
      },
      begin: () => void systemClock.after(DELAY_MS, () => asked.resolve()),
    },
  };
}
