import type { DispatchPorts, ProgramPorts } from "../../dispatch/ports.ts";
import type { OpenJournal } from "../../store/journal/journal.ts";
import { storiesFor } from "../messages/chat-why.ts";
import type { Live } from "./live.ts";
import { createRules } from "./rules.ts";
import { deniedPaths } from "./tools/file-places.ts";

/** The rules of the config, the gateway's own files, what commands show of messages, and the restart. */
export function programPorts(
  live: Live,
  journal: OpenJournal,
  { restart, approverClients, subagents, tasks, loops, processes }: Omit<ProgramPorts, "storiesOf">,
): ProgramPorts & Pick<DispatchPorts, "closedPaths" | "settings"> {
  const settings = createRules(live);
  return {
    settings,
    closedPaths: deniedPaths(live),
    ...(restart && { restart }),
    ...(approverClients && { approverClients }),
    ...(subagents && { subagents }),
    ...(tasks && { tasks }),
    ...(loops && { loops }),
    ...(processes && { processes }),
    storiesOf: (asked) => storiesFor(journal, asked, (message) => settings().keyFor(message)),
  };
}
