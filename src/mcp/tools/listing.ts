import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { z } from "zod";
import type { Fields } from "../../utils/fields.ts";
import { cleanText } from "../../utils/text/clean-text.ts";
import { cleanSchema } from "./schema.ts";

const MOST_TOOLS = 128;
const MOST_PAGES = 20;
const MOST_NAME = 128;
const MOST_DESCRIPTION = 1024;

const listedTool = z.lazy(() =>
  z.object({
    name: z.string().min(1).max(MOST_NAME),
    description: z.string(),
    schema: z.record(z.string(), z.unknown()),
  }),
);

/** A server's offer, as far as the gateway uses it. */
export const listing = z.lazy(() =>
  z.object({
    tools: z.array(listedTool).max(MOST_TOOLS),
    hasResources: z.boolean(),
    /** Tools that were left out, because there are too many or they have no usable name. */
    leftOut: z.int(),
  }),
);

export type Listing = z.output<typeof listing>;

interface RawTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: Fields;
}

/** Asks a server for its tools. Descriptions and schemas are cleaned and bounded. Rejects when it does not answer properly. */
export async function listTools(client: Client, timeout: number, signal?: AbortSignal): Promise<Listing> {
  const capabilities = client.getServerCapabilities();
  const raw = capabilities?.tools === undefined ? [] : await allPages(client, { timeout, ...(signal && { signal }) });
  const usable = raw.filter(({ name }) => name.length > 0 && name.length <= MOST_NAME);
  const kept = usable.slice(0, MOST_TOOLS);
  return {
    tools: kept.map(({ name, description = "", inputSchema }) => ({
      name,
      description: cleanText(description, MOST_DESCRIPTION),
      schema: cleanSchema(inputSchema),
    })),
    hasResources: capabilities?.resources !== undefined,
    leftOut: raw.length - kept.length,
  };
}

async function allPages(
  client: Client,
  options: { timeout: number; signal?: AbortSignal },
): Promise<readonly RawTool[]> {
  const { ListToolsResultSchema } = await import("@modelcontextprotocol/sdk/types.js");
  const tools: RawTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES && tools.length <= MOST_TOOLS; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await client.request({ method: "tools/list", params }, ListToolsResultSchema, options);
    tools.push(...answer.tools);
    cursor = answer.nextCursor;
    if (cursor === undefined) break;
  }
  return tools;
}
