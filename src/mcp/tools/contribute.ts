import { z } from "zod";
import type { Risk } from "../../types/run/untrusted.ts";
import type { Tool, ToolContribution, ToolResult } from "../../types/run/tool.ts";
import { isFields } from "../../utils/fields.ts";
import { errorResult } from "../../tools/define.ts";
import { McpFailure, type McpServer, type Request } from "../server.ts";
import { cleanText } from "../../utils/text/clean-text.ts";
import type { Listing } from "./listing.ts";
import { MCP_GROUPS, toolNames, type RawName } from "./names.ts";
import { callResult, resourceResult, serverError, serverText } from "./result.ts";

/** A running or sleeping server and what it offers. */
export interface Offer {
  readonly server: McpServer;
  readonly listing: Listing;
}

interface Offered extends RawName {
  readonly make: (name: string) => Tool;
}

/** The tools of all servers. They belong to the turns that begin from now on. */
export function contributionsOf(offers: readonly Offer[]): readonly ToolContribution[] {
  const named = toolNames(offers.flatMap((offer) => [...toolsOf(offer), ...resourceTools(offer)]));
  return [...named].map(([name, { make }]) => {
    const tool = make(name);
    return { name, groups: MCP_GROUPS, namedFor: "guests", forRun: () => tool };
  });
}

/** Characters of a tool's own name in texts. */
const MOST_NAME = 128;

const ANY_INPUT = z.record(z.string(), z.unknown());

const toolsOf = ({ server, listing }: Offer): readonly Offered[] =>
  listing.tools.map(({ name: tool, description, schema }) => ({
    server: server.name,
    tool,
    make: (name) => ({
      name,
      label: `${server.name}: ${cleanText(tool, MOST_NAME)}`,
      description:
        description === "" ? `The tool ${cleanText(tool, MOST_NAME)} of the MCP server ${server.name}.` : description,
      input: ANY_INPUT,
      jsonSchema: schema,
      // What the server says of itself is no reason to repeat a call.
      hasSideEffects: true,
      riskOf: async () => toServer(server.name),
      run: async (input, { signal }) => {
        const request = { method: "tools/call" as const, params: { name: tool, arguments: input } };
        return asked(server, request, signal, (answer) => callResult(server.name, answer));
      },
    }),
  }));

const toServer = (server: string): Risk => ({ use: "network", what: `sends data to the MCP server ${server}` });

const listInput = z.object({
  cursor: z.string().optional().describe("Where the list goes on, as an earlier answer said."),
});
const readInput = z.object({ uri: z.string().min(1).describe("URI of a resource, as the list has it.") });

/** A server's resources are read by two tools. */
function resourceTools({ server, listing }: Offer): readonly Offered[] {
  if (!listing.hasResources) return [];
  const { name: of } = server;
  return [
    {
      server: of,
      tool: "list_resources",
      isOwn: true,
      make: (name) =>
        toolOf(of, name, listInput, {
          label: `${of}: list resources`,
          description: `Lists the resources of the MCP server ${of}, with their URIs.`,
          run: ({ cursor }, signal) =>
            asked(
              server,
              { method: "resources/list", params: cursor === undefined ? {} : { cursor } },
              signal,
              (answer) => serverText(of, resourceLines(answer)),
            ),
        }),
    },
    {
      server: of,
      tool: "read_resource",
      isOwn: true,
      make: (name) =>
        toolOf(of, name, readInput, {
          label: `${of}: read a resource`,
          description: `Reads a resource of the MCP server ${of} by its URI.`,
          run: ({ uri }, signal) =>
            asked(server, { method: "resources/read", params: { uri } }, signal, (answer) =>
              resourceResult(of, answer),
            ),
        }),
    },
  ];
}

interface Made<Input> {
  readonly label: string;
  readonly description: string;
  run(input: Input, signal: AbortSignal): Promise<ToolResult>;
}

const toolOf = <Input>(
  server: string,
  name: string,
  input: z.ZodType<Input>,
  { run, ...texts }: Made<Input>,
): Tool => ({
  ...texts,
  name,
  input,
  hasSideEffects: true,
  // An address or a cursor carries data as well as an argument does.
  riskOf: async () => toServer(server),
  run: async (given, { signal }) => run(input.parse(given), signal),
});

async function asked(
  server: McpServer,
  request: Request,
  signal: AbortSignal,
  show: (answer: unknown) => ToolResult,
): Promise<ToolResult> {
  try {
    return show(await server.request(request, signal));
  } catch (error) {
    if (!(error instanceof McpFailure)) throw error;
    const own = errorResult(error.message, { mcpServer: server.name });
    if (error.words === undefined) return own;
    const words = serverError(server.name, error.words);
    return { ...words, content: [...own.content, ...words.content] };
  }
}

const MOST_RESOURCES = 200;

function resourceLines(answer: unknown): string {
  const { resources, nextCursor } = isFields(answer) ? answer : {};
  const rows = (Array.isArray(resources) ? resources : []).filter(isFields).slice(0, MOST_RESOURCES);
  const lines = rows.map(({ uri, name, mimeType, description }) =>
    [uri, name, mimeType, description].filter((part) => typeof part === "string").join(" | "),
  );
  return [...lines, ...(typeof nextCursor === "string" ? [`[more with cursor ${nextCursor}]`] : [])].join("\n");
}
