import { spawn } from "node:child_process";
import { OpenClawError } from "../../../../types/errors.ts";
import { dashboardAddress } from "../../../config/control-ui.ts";
import { findGatewayToken } from "../../../config/gateway-login.ts";
import { remoteGateway, type RemoteGateway } from "../../../config/remote.ts";
import { gatewayHost } from "../../address.ts";
import { writeJson, type Io } from "../../io.ts";
import { readState } from "../../state.ts";
import type { Env } from "../../../../utils/env.ts";

/**
 * Prints the page's address with its token in the fragment, which no server sees. For a person at a desktop the page is
 * opened without the token: every user of the machine can see the arguments of programs, and the page stores its token.
 */
export async function dashboard(io: Io, options: { open: boolean; json?: boolean }): Promise<number> {
  const state = await readState(io);
  const remote = remoteGateway(state.config);
  if (remote) return remoteDashboard(io, remote, options);
  const found = await findGatewayToken(state.paths, state.config, io.env);
  if (!found) {
    throw new OpenClawError("GATEWAY_UNREACHABLE", {
      message: "There is no token yet: the gateway has never run on this state directory.",
      fix: "Start it: openclaw gateway run",
    });
  }
  const port = state.owner?.port ?? state.config.gateway.port;
  const page = dashboardAddress(gatewayHost(state.config), port, state.config);
  const url = `${page}#token=${encodeURIComponent(found.token.reveal())}`;
  if (options.json === true) {
    writeJson(io, { url, running: state.owner !== undefined });
    return 0;
  }
  io.out(`${url}\n`);
  if (!state.owner) io.err("The gateway does not run now; start it: openclaw gateway run\n");
  else if (options.open && io.isTerminal && openBrowser(io.env, page)) {
    io.err("The page opens. Where it asks for the token, follow the address above.\n");
  }
  return 0;
}

/** The page of a gateway elsewhere is where its WebSocket is. */
function remoteDashboard(io: Io, { url, token }: RemoteGateway, { json }: { json?: boolean }): number {
  const page = url.replace(/^ws/, "http").replace(/\/*$/, "/");
  const address = token ? `${page}#token=${encodeURIComponent(token.reveal())}` : page;
  if (json === true) writeJson(io, { url: address, running: null });
  else io.out(`${address}\n`);
  return 0;
}

/** False where there is no desktop. A browser that cannot be started is no failure: the address is printed. */
function openBrowser(env: Env, url: string): boolean {
  const opener = openerOf(env);
  if (!opener) return false;
  const [program, ...args] = opener;
  const child = spawn(program, [...args, url], { detached: true, stdio: "ignore" });
  child.on("error", () => undefined);
  child.unref();
  return true;
}

function openerOf(env: Env): readonly [string, ...string[]] | undefined {
  if (env["SSH_CONNECTION"]) return undefined;
  if (process.platform === "darwin") return ["open"];
  if (process.platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return env["DISPLAY"] || env["WAYLAND_DISPLAY"] ? ["xdg-open"] : undefined;
}
