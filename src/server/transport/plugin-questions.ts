import { shownApproval } from "../../types/answers/approvals.ts";
import type { GatewayEvent } from "../../types/method.ts";

/** Clients of OpenClaw that show the questions of plugins and no others. */
const CLIENTS: ReadonlySet<string> = new Set(["openclaw-tui"]);

export const showsOnlyPlugins = (clientId: string | undefined): boolean =>
  clientId !== undefined && CLIENTS.has(clientId);

/** Characters of a question that fit on a small terminal together with its choices. */
const MOST_SHOWN = 1000;

interface Shown {
  readonly request: {
    readonly command: string;
    readonly cwd?: string | undefined;
    readonly reason?: string | undefined;
    readonly files?: readonly { readonly path: string }[] | undefined;
    readonly variables?: readonly string[] | undefined;
    readonly allowedDecisions?: readonly string[] | undefined;
  };
}

/**
 * A question about a command in the form of a plugin's question. The client shows it as one line. What does not fit there
 * can only be denied there.
 */
export function asPluginQuestion<T extends Shown>(shown: T): T {
  const { request } = shown;
  if ("title" in request) return shown;
  const description = textOf(request);
  const isShort = description.length <= MOST_SHOWN;
  const title = isShort
    ? "The agent wants to run a command"
    : "The agent wants to run a command that is too long to be shown here. Read and allow it on the gateway's page.";
  const allowedDecisions = isShort ? request.allowedDecisions : ["deny"];
  const words = { title, description: description.slice(0, MOST_SHOWN), severity: "warning", toolName: "exec" };
  return { ...shown, approvalKind: "plugin", request: { ...request, ...words, pluginId: null, allowedDecisions } };
}

function textOf({ command, cwd = "", reason = "", files = [], variables = [] }: Shown["request"]): string {
  return [
    command,
    ...(cwd === "" ? [] : [`— in ${cwd}`]),
    ...(reason === "" ? [] : [`(${reason})`]),
    ...(variables.length === 0 ? [] : [`Plugins set these variables for it: ${variables.join(", ")}.`]),
    ...(files.length === 0
      ? []
      : [`Only with these files as they are now: ${files.map(({ path }) => path).join(", ")}`]),
  ]
    .join(" ")
    .replaceAll(/\r\n|[\n\r\u2028\u2029]/g, " ⏎ ");
}

const NAMES: ReadonlyMap<string, string> = new Map([
  ["exec.approval.requested", "plugin.approval.requested"],
  ["exec.approval.resolved", "plugin.approval.resolved"],
]);

/** The event as a client shows it. */
export function eventFor(event: GatewayEvent, clientId: string | undefined): GatewayEvent {
  const name = NAMES.get(event.event);
  if (name === undefined || !showsOnlyPlugins(clientId)) return event;
  const asked = shownApproval.safeParse(event.payload).data;
  return { ...event, event: name, ...(asked && { payload: asPluginQuestion(asked) }) };
}
