import { randomUUID } from "node:crypto";
import { z } from "zod";
import { agentAnswers } from "../../../../types/answers/chat.ts";
import { sessionAnswers } from "../../../../types/session.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { packageVersion } from "../../../package-root.ts";
import type { GatewayFlags } from "../../address.ts";
import { withGateway } from "../../call-gateway.ts";
import type { GatewayClient } from "../../client.ts";
import type { Io } from "../../io.ts";
import { readState } from "../../state.ts";
import { messageText } from "../message/message-text.ts";

export type ServeFlags = GatewayFlags;

/** The requests that a client may send. */
interface Offered {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodType;
  run(input: unknown, client: GatewayClient): Promise<unknown>;
}

const offer = <Input>(
  name: string,
  description: string,
  input: z.ZodType<Input>,
  run: (input: Input, client: GatewayClient) => Promise<unknown>,
): Offered => ({ name, description, input, run: (given, client) => run(input.parse(given), client) });

const GRACE_MS = 10_000;

const TOOLS: readonly Offered[] = [
  offer(
    "sessions_list",
    "Lists the conversations of the gateway, the latest first.",
    z.object({ limit: z.int().min(1).max(200).default(50), agentId: z.string().min(1).optional() }),
    async (params, client) => {
      const { sessions } = await client.call("sessions.list", params, sessionAnswers.list);
      return sessions.map(({ key, agentId, label, displayName, updatedAt, hasActiveRun = false }) => ({
        key,
        agentId,
        name: label ?? displayName,
        updatedAt: new Date(updatedAt).toISOString(),
        hasActiveRun,
      }));
    },
  ),
  offer(
    "messages_read",
    "Reads the last messages of a conversation.",
    z.object({ sessionKey: z.string().min(1), limit: z.int().min(1).max(200).default(20) }),
    async (params, client) => {
      const { messages } = await client.call("chat.history", { ...params, maxChars: 8000 }, sessionAnswers.history);
      return messages.map((message) => ({
        role: message.role,
        text: messageText(message),
        ...(message.timestamp !== undefined && { at: new Date(message.timestamp).toISOString() }),
      }));
    },
  ),
  offer(
    "messages_send",
    "Sends a message to an agent and waits for the answer. Without a session key it goes to the agent's main conversation.",
    z.object({
      message: z.string().min(1),
      sessionKey: z.string().min(1).optional(),
      agentId: z.string().min(1).optional(),
      timeoutSeconds: z.int().min(1).max(3600).default(300),
    }),
    async ({ timeoutSeconds, ...params }, client) => {
      const timeoutMs = timeoutSeconds * 1000;
      const sent = await client.call("agent", { ...params, idempotencyKey: randomUUID() }, agentAnswers.start);
      const { runId, sessionKey } = sent;
      const { status, text, error } = await client.call(
        "agent.wait",
        { runId, timeoutMs },
        agentAnswers.wait,
        timeoutMs + GRACE_MS,
      );
      return { runId, sessionKey, status, text, error };
    },
  ),
];

/** An MCP server over standard input and output. It asks the gateway with its token, and ends when its input does. */
export async function mcpServe(io: Io, flags: ServeFlags): Promise<number> {
  const { Server } = await import("@modelcontextprotocol/sdk/server/index.js");
  const { StdioServerTransport } = await import("@modelcontextprotocol/sdk/server/stdio.js");
  const { CallToolRequestSchema, ListToolsRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
  const jsonSchemaValidator = { getValidator: () => unchecked };
  const server = new Server(
    { name: "openclaw", version: packageVersion() },
    { capabilities: { tools: {} }, jsonSchemaValidator },
  );
  const tools = TOOLS.map(({ name, description, input }) => ({
    name,
    description,
    inputSchema: { ...z.toJSONSchema(input, { io: "input" }), type: "object" as const },
  }));
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => answer(params, { io, flags }));
  const over = Promise.withResolvers<void>();
  process.stdin.once("end", () => over.resolve()).once("close", () => over.resolve());
  await server.connect(new StdioServerTransport());
  await over.promise;
  await server.close();
  return 0;
}

const unchecked = (): { valid: false; data: undefined; errorMessage: string } => ({
  valid: false,
  data: undefined,
  errorMessage: "nothing is asked for",
});

interface Gateway {
  readonly io: Io;
  readonly flags: ServeFlags;
}

/** Each call has a connection of its own, so that a restart of the gateway ends none but those under way. */
async function answer(
  { name, arguments: given = {} }: { readonly name: string; readonly arguments?: unknown },
  { io, flags }: Gateway,
) {
  const said = (text: string) => ({ content: [{ type: "text" as const, text }] });
  try {
    const tool = TOOLS.find((one) => one.name === name);
    if (!tool) throw new Error(`there is no tool ${name}`);
    // The gateway may have started again, at another port.
    const state = await readState(io);
    const result = await withGateway(io, state, (client) => tool.run(given, client), { flags, isQuiet: true });
    return said(JSON.stringify(result, null, 2));
  } catch (error) {
    return { ...said(errorText(error)), isError: true };
  }
}
