import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { z } from "zod";
import { isFields, type Fields } from "../utils/fields.ts";
import { cleanText } from "../utils/text/clean-text.ts";
import { cleanSchema } from "./schema.ts";

const MOST_TOOLS = 128;
const MOST_PAGES = 20;
const MOST_NAME = 128;
const MOST_DESCRIPTION = 1024;
/** Names of tools in one line of the log. */
const MOST_NAMED = 10;

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
    /** Number of tools that were left out, because there are too many or because their names are not usable. */
    leftOut: z.int(),
    /** Names of some of the tools that were left out. */
    leftOutNames: z.array(z.string()).optional(),
  }),
);

export type Listing = z.output<typeof listing>;

/** Asks a server for its tools. Descriptions and schemas are cleaned and bounded. Rejects when it does not answer properly. */
export async function listTools(client: Client, timeout: number, signal?: AbortSignal): Promise<Listing> {
  const capabilities = client.getServerCapabilities();
  const raw = capabilities?.tools === undefined ? [] : await allPages(client, { timeout, ...(signal && { signal }) });
  const kept = raw.flatMap(toolOf).slice(0, MOST_TOOLS);
  const names = new Set(kept.map(({ name }) => name));
  const left = raw.filter((tool) => !isFields(tool) || !names.has(String(tool["name"])));
  return {
    tools: kept,
    hasResources: capabilities?.resources !== undefined,
    leftOut: raw.length - kept.length,
    ...(left.length > 0 && { leftOutNames: left.slice(0, MOST_NAMED).map(nameOf) }),
  };
}

const nameOf = (tool: unknown): string =>
  cleanText(isFields(tool) && typeof tool["name"] === "string" ? tool["name"] : "(no name)", MOST_NAME);

/**
 * A bad tool must not cost the others: a part that is missing or has another type than it should is treated as missing.
 */
function toolOf(tool: unknown): Listing["tools"] {
  const { name, description, inputSchema } = isFields(tool) ? tool : {};
  if (typeof name !== "string" || name.length === 0 || name.length > MOST_NAME) return [];
  const text = typeof description === "string" ? description : "";
  return [{ name, description: cleanText(text, MOST_DESCRIPTION), schema: cleanSchema(inputSchema) }];
}

async function allPages(
  client: Client,
  options: { timeout: number; signal?: AbortSignal },
): Promise<readonly unknown[]> {
  const { ResultSchema } = await import("@modelcontextprotocol/sdk/types.js");
  const tools: unknown[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES && tools.length <= MOST_TOOLS; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const answer: Fields = await client.request({ method: "tools/list", params }, ResultSchema, options);
    if (!Array.isArray(answer["tools"])) throw new Error("its list of tools is no list");
    tools.push(...answer["tools"]);
    cursor = typeof answer["nextCursor"] === "string" ? answer["nextCursor"] : undefined;
    if (cursor === undefined) break;
  }
  return tools;
}
