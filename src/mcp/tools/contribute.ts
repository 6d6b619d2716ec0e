import { z } from "zod";
import type { Risk } from "../../types/run/untrusted.ts";
import type { Tool, ToolContribution, ToolResult } from "../../types/run/tool.ts";
import { isFields, type Fields } from "../../utils/fields.ts";
import { errorResult } from "../../tools/define.ts";
import { McpFailure, type McpServer, type McpRequest } from "../server.ts";
import { cleanText } from "../../utils/text/clean-text.ts";
import type { Listing } from "../listing.ts";
import { MCP_GROUPS, toolNames, type RawName } from "./names.ts";
import type { ImageContent } from "../../types/run/model.ts";
import { shorten } from "../../utils/text/shorten.ts";
import { wrapUntrusted } from "../../utils/text/untrusted.ts";

/** A running or sleeping server and its tools. */
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
      // The server's own claims about side effects are no reason to repeat a call.
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
  request: McpRequest,
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

/** Characters of a result, so that the closing marker is inside the default limit of a tool's result. */
const MOST_CHARS = 15_000;
const MOST_IMAGES = 4;
/** Bytes of one image; providers accept no larger ones. */
const MOST_IMAGE_BYTES = 5 * 1024 * 1024;
const IMAGE_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Marks the result as content of somebody else, in the field's form. */
const detailsOf = (server: string) => ({
  mcpServer: server,
  externalContent: { untrusted: true, source: "mcp", provider: server, wrapped: true },
});

/** Answer of a server to a call, as the model gets it: text between the markers of untrusted content, and images. */
function callResult(server: string, answer: unknown): ToolResult {
  const { content, structuredContent, isError } = isFields(answer) ? answer : {};
  const parts = (Array.isArray(content) ? content : [content]).map(asPart).filter(isFields);
  const images = parts.flatMap(imageOf);
  const told = parts.flatMap((part) => textOf(part, imageOf(part).length > 0));
  const texts = told.length === 0 && structuredContent !== undefined ? [JSON.stringify(structuredContent)] : told;
  const left = images.length - MOST_IMAGES;
  const notes = left > 0 ? [`[${left} more images were left out]`] : [];
  return {
    content: [
      { type: "text", text: wrapped(server, [...texts, ...notes].join("\n\n")) },
      ...images.slice(0, MOST_IMAGES),
    ],
    details: detailsOf(server),
    ...(isError === true && { isError: true }),
  };
}

/** Some servers write a text where the protocol has a part. */
const asPart = (given: unknown): unknown => (typeof given === "string" ? { type: "text", text: given } : given);

/** The contents of a resource, as the model gets these. */
function resourceResult(server: string, answer: unknown): ToolResult {
  const contents = isFields(answer) && Array.isArray(answer["contents"]) ? answer["contents"].filter(isFields) : [];
  return callResult(server, { content: contents.flatMap((resource) => [{ type: "resource", resource }]) });
}

/** A text of the server, as the model gets it. */
const serverText = (server: string, text: string): ToolResult => ({
  content: [{ type: "text", text: wrapped(server, text) }],
  details: detailsOf(server),
});

/** A failure that the server put into words, which are no more trusted than its results. */
const serverError = (server: string, text: string): ToolResult => ({
  ...serverText(server, text),
  isError: true,
});

const wrapped = (server: string, text: string): string =>
  wrapUntrusted(text === "" ? "[the server answered without text]" : shorten(text, MOST_CHARS), {
    label: "External",
    from: `MCP server ${server}`,
  });

function imageOf(part: Fields): ImageContent[] {
  if (part["type"] === "resource" && isFields(part["resource"])) return imageIn(part["resource"], "blob");
  return part["type"] === "image" ? imageIn(part, "data") : [];
}

function imageIn(part: Fields, key: "data" | "blob"): ImageContent[] {
  const { mimeType, [key]: data } = part;
  if (typeof mimeType !== "string" || typeof data !== "string" || !IMAGE_TYPES.has(mimeType)) return [];
  if (bytesOf(data) > MOST_IMAGE_BYTES || !BASE64.test(data)) return [];
  return [{ type: "image", data, mimeType }];
}

const bytesOf = (base64: string): number => Math.floor((base64.length * 3) / 4);

const word = (value: unknown, otherwise = ""): string => (typeof value === "string" ? value : otherwise);

function textOf(part: Fields, isShown: boolean): readonly string[] {
  const { type, text, data, mimeType, resource, uri, name } = part;
  if (type === "text") return typeof text === "string" || typeof text === "number" ? [String(text)] : [];
  if (type === "resource_link") return [`[resource ${word(name)} ${word(uri)}]`];
  if (type === "resource") return isFields(resource) ? resourceText(resource, isShown) : [];
  if (isShown || typeof data !== "string") return [];
  return [`[${word(type)} ${word(mimeType)}, ${bytesOf(data)} bytes, not shown]`];
}

function resourceText({ uri, text, blob, mimeType }: Fields, isShown: boolean): readonly string[] {
  if (typeof text === "string") return [`[${word(uri, "resource")}]\n${text}`];
  if (isShown || typeof blob !== "string") return [`[${word(uri, "resource")}]`];
  return [`[${word(uri, "resource")} ${word(mimeType)}, ${bytesOf(blob)} bytes, not shown]`];
}
