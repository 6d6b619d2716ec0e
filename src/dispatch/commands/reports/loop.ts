import type { Loop, LoopDesk } from "../../../types/cron/loops.ts";
import { readDuration } from "../../../utils/time/duration.ts";
import { plainMarkdown } from "../../../utils/text/plain-markdown.ts";
import type { CommandAnswer, CommandContext } from "../kit/command.ts";

const LEAST_MS = 60_000;
const USE = "Use /loop 5m and a task, /loop and a task, /loop status, or /loop stop.";

/** Repeats a task in the conversation, lists the repeated tasks, or ends them. */
export async function loop(context: CommandContext): Promise<CommandAnswer> {
  const desk = context.ports.program.desks.get("loops");
  if (!desk) return { text: "This gateway has no scheduled jobs." };
  const [first = "", ...rest] = context.args.trim().split(/\s+/);
  const others = rest.join(" ");
  if (first === "" || first === "status") return { text: listText(desk, context) };
  if (first === "stop") return { text: await stopText(desk, others, context) };
  const everyMs = /^\d/.test(first) ? readDuration(first) : undefined;
  const task = everyMs === undefined ? context.args.trim() : context.args.trim().slice(first.length).trim();
  if (task === "") return { text: USE };
  if (everyMs !== undefined && everyMs < LEAST_MS) return { text: "The shortest time between two runs is a minute." };
  return { text: await beginText(desk, { task, everyMs }, context) };
}

async function beginText(
  desk: LoopDesk,
  wish: { readonly task: string; readonly everyMs: number | undefined },
  { key, ports }: CommandContext,
): Promise<string> {
  const begun = await desk.begin({ ...wish, key, agentId: ports.settings().agentOf(key) });
  if (typeof begun === "string") return `It cannot be repeated: ${begun}.`;
  return `🔁 I repeat it ${whenText(begun)}: ${plainMarkdown(begun.name)}\n/loop stop ends it.`;
}

function listText(desk: LoopDesk, { key }: CommandContext): string {
  const loops = desk.list(key);
  if (loops.length === 0) return "Nothing is repeated in this conversation.";
  return [
    "Repeated in this conversation:",
    "",
    ...loops.map((one) => `• ${plainMarkdown(one.name)} (${whenText(one)})`),
  ].join("\n");
}

async function stopText(desk: LoopDesk, name: string, { key }: CommandContext): Promise<string> {
  const wanted = desk.list(key).filter((one) => name === "" || one.name === name || one.id === name);
  if (wanted.length === 0)
    return name === ""
      ? "Nothing is repeated in this conversation."
      : `Nothing here is called “${plainMarkdown(name)}”.`;
  for (const { id } of wanted) await desk.remove(id);
  return `⏹ Not repeated any more: ${wanted.map((one) => plainMarkdown(one.name)).join(", ")}`;
}

function whenText({ everyMs }: Loop): string {
  if (everyMs === undefined) return "when it sees fit, at least every hour";
  const minutes = Math.round(everyMs / LEAST_MS);
  return minutes % 60 === 0 ? `every ${minutes / 60} h` : `every ${minutes} min`;
}
