import { setTimeout as wait } from "node:timers/promises";
import { errorText } from "../../utils/text/error-text.ts";
import { readConfigSource } from "../config/source.ts";
import { configAnswers } from "../../types/answers/config.ts";
import { isElsewhere } from "./address.ts";
import { withGateway } from "./call-gateway.ts";
import type { Io } from "./io.ts";
import type { State } from "./state.ts";

/** Milliseconds that a gateway has for a change, beyond the quiet time of the file's watcher. */
const PATIENCE_MS = 5000;
/** The same where the file says that a change waits for the next start. A gateway that was started with another mode follows all the same. */
const SHORT_PATIENCE_MS = 500;
const LOOK_EVERY_MS = 50;

/**
 * Waits until the running gateway of this state directory works with the config file as it is now, so that the next message is answered
 * accordingly. Says so when it does not yet. Never rejects: the file is written all the same.
 */
export async function untilFollowed(io: Io, state: State): Promise<void> {
  if (isElsewhere(io, state) || state.owner === undefined) return;
  try {
    if (await isFollowed(io, state)) return;
    io.err(
      isAtStart(state)
        ? "The running gateway follows at its next start: openclaw gateway run --force\n"
        : "The running gateway does not follow yet: openclaw gateway status says why.\n",
    );
  } catch (error) {
    io.err(`Whether the running gateway follows is not known: ${errorText(error)}\n`);
  }
}

/** Whether the running gateway works with the config file as it is now, after some patience. Throws as `withGateway` does. */
export function isFollowed(io: Io, state: State, patienceMs = PATIENCE_MS): Promise<boolean> {
  const { debounceMs } = state.config.gateway.reload;
  return isFollowedBy(io, state, Date.now() + debounceMs + (isAtStart(state) ? SHORT_PATIENCE_MS : patienceMs));
}

const isAtStart = ({ config }: State): boolean => ["off", "restart"].includes(config.gateway.reload.mode);

/** Asks until the gateway follows, or until this time in milliseconds since 1970. */
const isFollowedBy = (io: Io, state: State, until: number): Promise<boolean> =>
  withGateway(
    io,
    state,
    async (client) => {
      for (;;) {
        const { hash, appliedConfigHash = hash } = await client.call("config.get", {}, configAnswers.get);
        if (appliedConfigHash === (await readConfigSource(state.load)).hash) return true;
        if (Date.now() > until) return false;
        await wait(LOOK_EVERY_MS);
      }
    },
    { isQuiet: true },
  );
