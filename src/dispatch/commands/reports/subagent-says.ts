import type { SubagentActs } from "../../../types/subagent/spawn.ts";
import { chatOf } from "../../../sessions/chat-of.ts";
import type { SessionAsker } from "../../../types/subagent/spawn.ts";
import type { CommandContext } from "../kit/command.ts";

const OWNERS_ONLY = "Only an owner starts subagents or gives them messages.";
const NOT_HERE = "Subagents can only be started by the running gateway.";

type Say = (context: CommandContext) => Promise<string>;

/** The words of `/subagents` that give a subagent something to do. */
export const SAYS: ReadonlyMap<string, Say> = new Map([
  ["spawn", spawn],
  ["send", (context: CommandContext) => say("send", context)],
  ["steer", (context: CommandContext) => say("steer", context)],
]);

async function spawn(context: CommandContext): Promise<string> {
  const [agentId, said = ""] = wordsOf(context);
  const { task, ...how } = howIn(said);
  if (agentId === undefined || task === "")
    return "Use /subagents spawn <agent> <task>, with --model <model> and --thinking <level> behind it if you like.";
  return withActs(context, async (acts) => {
    const answer = await acts.spawn({ task, agentId, ...how }, askerOf(context));
    if (answer.status !== "accepted") return answer.error;
    const note = answer.note === undefined ? "" : ` ${answer.note}`;
    return `Started. Its result is told here.${note}`;
  });
}

/** The task, and the model and the level that are named after it. */
function howIn(said: string): { readonly task: string; readonly model?: string; readonly thinking?: string } {
  const [, before = "", name, value] = /^([^]*?)(?:^|\s)--(model|thinking)[ =](\S+)\s*$/.exec(said) ?? [];
  if (name === undefined) return { task: said.trim() };
  return { ...howIn(before), [name]: value };
}

async function say(how: "send" | "steer", context: CommandContext): Promise<string> {
  const [target, message] = wordsOf(context);
  if (target === undefined || message === undefined) return `Use /subagents ${how} <number, label or id> <message>.`;
  return withActs(context, async (acts) => {
    const act = await acts.say(how, { target, message }, askerOf(context));
    if (typeof act === "string") return act;
    const { label, dropped } = act;
    if (how === "send") return `${label}: gets it next.`;
    const lost = dropped === undefined ? "" : ` ${droppedText(dropped)}`;
    return `${label}: begins again with it.${lost}`;
  });
}

const droppedText = (count: number): string =>
  count === 1 ? "1 message that waited for it is dropped." : `${count} messages that waited for it are dropped.`;

async function withActs(
  { isOwner, ports }: CommandContext,
  work: (acts: SubagentActs) => Promise<string>,
): Promise<string> {
  if (!isOwner) return OWNERS_ONLY;
  const acts = ports.program.desks.get("subagents");
  return acts ? work(acts) : NOT_HERE;
}

/** The word after the first one, and the text after that. */
function wordsOf({ args }: CommandContext): readonly [string | undefined, string | undefined] {
  const [, name, text] = /^\s*\S+\s+(\S+)\s+(\S[^]*)$/.exec(args) ?? [];
  return [name, text?.trim()];
}

/** The person who gave the command, whose conversation gets the end of the subagent. */
function askerOf({ key, message, isOwner, ports }: CommandContext): SessionAsker {
  const { agentOf, defaultAgent } = ports.settings();
  const { options, from } = message;
  const to = options?.operator === true ? chatOf(key, ports.storage.sessions.peek(key), defaultAgent) : from;
  return { sessionKey: key, agentId: agentOf(key), isOwner, isSandboxed: false, depth: 0, ...(to && { to }) };
}
