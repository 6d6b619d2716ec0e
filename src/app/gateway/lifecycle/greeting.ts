import { existsSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../package-root.ts";
import { ensureGatewayToken } from "../../config/gateway-token.ts";
import type { Live } from "../../compose/live.ts";
import type { Gateway } from "../gateway.ts";

/**
 * A short summary of the started gateway. At a terminal it shows the address with the token, in the fragment that no server
 * sees. Other output may be stored and read by others, so it shows the address alone.
 */
export async function greet(gateway: Gateway, live: Live, givenToken?: string): Promise<void> {
  const isTerminal = process.stdout.isTTY === true;
  if (!isTerminal && live.config.logging.consoleStyle === "json") return;
  const page = `http://127.0.0.1:${gateway.port}/`;
  const model = await gateway.modelText();
  const lines = [
    "",
    `  OpenClaw gateway ${gateway.version}`,
    `  Chat      ${isTerminal ? await withToken(page, live, givenToken) : `${page}  (sign in: ${howToSignIn(givenToken)})`}`,
    `  State     ${live.paths.stateDir}`,
    `  Model     ${model}`,
    `  Channels  ${gateway.channelsText()}`,
    "",
    "",
  ];
  process.stdout.write(lines.join("\n"));
}

async function withToken(page: string, live: Live, givenToken: string | undefined): Promise<string> {
  const token = givenToken ?? (await ensureGatewayToken(live.paths, live.config)).reveal();
  return `${page}#token=${token}`;
}

/** A clone has no `openclaw` on the path. */
const program = (): string => (existsSync(join(packageRoot, "src")) ? "node bin/openclaw.mjs" : "openclaw");

const howToSignIn = (givenToken: string | undefined): string =>
  givenToken === undefined ? `${program()} dashboard` : "with the token of --token";
