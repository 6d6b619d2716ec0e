import { onTestFinished } from "vitest";
import { openDispatchFixture, type Boot, type DispatchFixture } from "../dispatch.ts";
import { startTestServer, TOKEN } from "./server.ts";

export interface OpenAiGateway {
  /** Base URL for clients of OpenAI's protocol. */
  readonly url: string;
  readonly key: string;
  readonly fixture: DispatchFixture;
  readonly boot: Boot;
}

/**
 * The endpoints over the real dispatch. The model calls the tool `weather` where it has one and is asked about the weather,
 * answers with a city where it is to answer in JSON, and else repeats what it was told.
 */
export async function openOpenAiGateway(): Promise<OpenAiGateway> {
  const fixture = await openDispatchFixture();
  fixture.systemPrompt = async ({ extra = "" }) => ({ text: `You are a test. ${extra}`, parts: [] });
  fixture.model.answer((call) => {
    if (call.isAfterTool) return { text: `It is ${call.toolText}.` };
    const tool = call.tools.find(
      ({ function: { name } }) => name === "weather" || name === "extract" || name === "json",
    );
    if (tool && /weather/i.test(call.said)) return { tool: tool.function.name, args: { city: "Oslo" } };
    return { text: call.system.includes("Your final answer must be") ? '{"city":"Oslo"}' : `echo: ${call.said}` };
  });
  const boot = await fixture.boot();
  const { server, http } = await startTestServer({ ports: { chat: boot.chat, sessions: boot.sessions } });
  onTestFinished(async () => {
    await server.close(200);
    await fixture.close();
  });
  return { url: `${http}/v1`, key: TOKEN, fixture, boot };
}
