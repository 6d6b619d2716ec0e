import type { Io } from "../../io.ts";
import { readState } from "../../state.ts";
import { readConfigSource } from "../../../config/source.ts";
import { status } from "../gateway/status.ts";
import { onboard } from "./onboard.ts";

const NEXT = [
  "",
  "Next:",
  "  openclaw dashboard          the chat page",
  "  openclaw agent -m <text>    a message to the agent",
  "  openclaw configure          change a model, a channel, the service",
  "  openclaw doctor             check everything",
  "  openclaw --help             all commands",
  "",
];

/** `openclaw` alone at a terminal: the set-up where there is no config, else the state and what can be done. Throws the config's problem. */
export async function runBare(io: Io): Promise<number> {
  const { load, problem } = await readState(io);
  if (problem) {
    io.err("The config has a problem, so nothing was begun. More: openclaw doctor\n");
    throw problem;
  }
  if ((await readConfigSource(load)).text === undefined) return onboard(io, {});
  const code = await status(io, {});
  io.out(NEXT.join("\n"));
  return code;
}
