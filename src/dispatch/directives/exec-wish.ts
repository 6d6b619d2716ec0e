import type { InboxRow } from "../../types/journal.ts";
import { elevatedLevelOf, sessionExecOf, stricterExec } from "../../types/run/exec-wish.ts";
import type { Acting } from "../../types/run/principal.ts";
import type { Session } from "../../types/session.ts";
import { setBy } from "./said.ts";
import type { DispatchPorts } from "../ports.ts";

type Ports = Pick<DispatchPorts, "settings" | "kinds">;

/** What the conversation and the turn's messages set for its commands. It is read once: what is set later holds for the next turn. */
export function execWishOf(
  rows: readonly InboxRow[],
  { key, entry }: Pick<Session, "key" | "entry">,
  ports: Ports,
): Pick<Acting, "exec" | "elevated"> {
  const said = setBy(
    rows.map(({ message }) => message),
    key,
    ports,
  );
  const own = sessionExecOf({ host: entry.execHost, security: entry.execSecurity, ask: entry.execAsk });
  const exec = stricterExec(own, said.exec);
  const rules = ports.settings();
  const usual = rules.agents.get(rules.agentOf(key))?.elevated;
  const level = said.elevated ?? elevatedLevelOf(entry.elevatedLevel) ?? usual ?? "request";
  return {
    ...(Object.keys(exec).length > 0 && { exec }),
    ...(mayElevate(rows, key, ports) && { elevated: level }),
  };
}

/** Whether all who wrote the turn's messages may let commands leave the sandbox. Nobody wrote a heartbeat, or what a subagent is told. */
function mayElevate(rows: readonly InboxRow[], key: Session["key"], { settings, kinds }: Ports): boolean {
  const rules = settings();
  return (
    rows.length > 0 &&
    rows.every(
      ({ message }) => kinds.of(message).takesCommands && rules.mayElevate?.(message, rules.agentOf(key)) === true,
    )
  );
}
