import { EXEC_ASK, EXEC_HOSTS, EXEC_SECURITY, sessionExecOf, stricterOf } from "../../types/run/exec-wish.ts";
import type { SessionPatch } from "../../types/session.ts";
import { execWords } from "../directives/exec-words.ts";
import type { CommandAnswer, CommandContext } from "./kit/command.ts";
import { storeSetting } from "./kit/store-setting.ts";

const CLEARED: SessionPatch = { execHost: undefined, execSecurity: undefined, execAsk: undefined };

/** Shows or sets how commands of this conversation run: as strict as the config says, or stricter. */
export async function setExec(context: CommandContext): Promise<CommandAnswer> {
  const words = context.args.split(/\s+/).filter((word) => word !== "");
  if (words.length === 1 && words[0]?.toLowerCase() === "default") await storeSetting(context, CLEARED);
  else if (words.length > 0) {
    const wish = execWords(words);
    if (typeof wish === "string") return { text: `${wish} Nothing is changed.` };
    const { host, security, ask } = wish;
    await storeSetting(context, {
      ...(host && { execHost: host }),
      ...(security && { execSecurity: security }),
      ...(ask && { execAsk: ask }),
    });
  }
  return { text: stateOf(context) };
}

function stateOf({ key, ports }: CommandContext): string {
  const settings = ports.settings();
  const config = settings.agents.get(settings.agentOf(key))?.exec;
  const entry = ports.storage.sessions.peek(key);
  const own = sessionExecOf({ host: entry?.execHost, security: entry?.execSecurity, ask: entry?.execAsk });
  const lines = [
    lineOf("host", own.host, { order: EXEC_HOSTS, config: config?.host ?? "auto" }),
    lineOf("security", own.security, { order: EXEC_SECURITY, config: config?.security ?? "allowlist" }),
    lineOf("ask", own.ask, { order: EXEC_ASK, config: config?.ask ?? "on-miss" }),
  ];
  return ["Commands of this conversation:", ...lines, "exec-approvals.json may be stricter."].join("\n");
}

/** The line about a setting: the value that holds, and its source. */
function lineOf<Word extends string>(
  name: string,
  own: Word | undefined,
  { order, config }: { readonly order: readonly Word[]; readonly config: Word },
): string {
  const now = stricterOf(order, config, own);
  if (own === undefined) return `${name}: ${now} (as configured)`;
  if (own === now) return `${name}: ${now} (set here)`;
  return `${name}: ${now} (tools.exec.${name}; the ${own} that is set here is not as strict)`;
}
