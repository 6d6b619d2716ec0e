import { isForClient } from "../chats.ts";
import { isRestartOf, noteRestart } from "../resume/restart-notice.ts";
import type { CommandAnswer, CommandContext } from "./kit/command.ts";

/**
 * The answer to a client whose command had none when the gateway ended. Chats get a notice after the restart instead.
 */
const DONE = "The gateway has restarted.";

/**
 * Restarts the gateway once the answer is kept. The chat is informed when the gateway is back. A command that an
 * earlier process began does not restart the gateway again.
 */
export const restartGateway = (context: CommandContext): Promise<CommandAnswer> =>
  context.commands.restarts.run("restart", () => restart(context));

async function restart({ message, key, ports }: CommandContext): Promise<CommandAnswer> {
  const {
    program: { desks },
    storage: { journal },
    clock,
  } = ports;
  const desk = desks.get("restart");
  if (!desk) return { text: "This gateway cannot restart itself." };
  if (await isRestartOf(message, journal.values)) return { text: isForClient(message) ? DONE : "" };
  const why = await desk.whyNot();
  if (why !== undefined) return { text: `The gateway does not restart: ${why}` };
  await noteRestart({ message, key, at: clock.now() }, journal.values);
  return {
    text: "The gateway restarts. What runs now may end first, or goes on afterwards. I write here when I am back.",
    afterwards: () => desk.begin(),
  };
}
