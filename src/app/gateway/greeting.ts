import { ensureGatewayToken } from "../config/gateway-token.ts";
import type { Live } from "../live.ts";
import type { Gateway } from "./gateway.ts";

/** What was started, in a few lines. The token stands in the fragment: it never reaches a server's log. */
export async function greet(gateway: Gateway, live: Live, givenToken?: string): Promise<void> {
  if (process.stdout.isTTY !== true && live.config.logging.consoleStyle === "json") return;
  const token = givenToken ?? (await ensureGatewayToken(live.paths, live.config)).reveal();
  const model = await gateway.modelText();
  const lines = [
    "",
    `  OpenClaw gateway ${gateway.version}`,
    `  Chat      http://127.0.0.1:${gateway.port}/#token=${token}`,
    `  State     ${live.paths.stateDir}`,
    `  Model     ${model}`,
    `  Channels  ${gateway.channelsText()}`,
    "",
    "",
  ];
  process.stdout.write(lines.join("\n"));
}
