import { OpenClawError } from "../../../../types/errors.ts";
import { defined } from "../../../../utils/defined.ts";
import { ensureGatewayToken } from "../../../config/gateway-login.ts";
import { writeJson, type Io } from "../../io.ts";
import { placeFrom } from "../agents/list.ts";
import { serviceInstall } from "../gateway/gateway-service.ts";
import { onboardRemote } from "./remote.ts";
import { wishFrom } from "./model-wish.ts";
import { checkFlags, isOn, numberOf, flagText, type Flags } from "./flags.ts";
import { awaitHealth, unhealthy, type Health } from "./health.ts";
import { silentModel, tryModel, type TriedModel } from "./try-model.ts";
import {
  openScene,
  undoReset,
  RESET_SCOPES,
  resetState,
  withoutConfig,
  writeEdits,
  type Moved,
  type SetupScene,
} from "./scene.ts";
import {
  agentWishEdits,
  firstEdits,
  gatewayEdits,
  makePlaces,
  secretWish,
  type AgentWish,
  type GatewayWish,
} from "./settings.ts";

/**
 * Sets up without a question. The model answers once before anything is written; then all is written, or nothing. Throws USAGE for
 * flags that are not possible, and MODEL_SILENT.
 */
export async function onboardByFlags(io: Io, flags: Flags): Promise<number> {
  if (!isOn(flags, "accept-risk")) throw riskNotAccepted();
  checkFlags(flags);
  if (flagText(flags, "mode") === "remote") return onboardRemote(io, flags);
  const before = await openScene(io);
  const scene = isOn(flags, "reset") ? withoutConfig(before) : before;
  const agent = agentWish(io, flags);
  const gateway = gatewayWish(io, flags);
  const edits = [
    ...(scene.hasConfig ? [] : firstEdits(scene)),
    ...agentWishEdits(scene, agent),
    ...gatewayEdits(scene, gateway),
  ];
  const wish = await wishFrom(scene, flags);
  const model = wish && (await tryModel(scene, wish));
  if (model && "ok" in model) throw silentModel(model);
  const moved = isOn(flags, "reset") ? await resetState(before, scopeOf(flags)) : [];
  const workspace = await write({ scene, agent, model, edits }, moved);
  const installed = await install(io, flags);
  const health = isOn(flags, "skip-health") ? undefined : await awaitHealth(io);
  if (health) judge(health, flags);
  report(await openScene(io), flags, { model, workspace, moved, installed, ...(health && { health: health.kind }) });
  return 0;
}

interface Writing {
  readonly scene: SetupScene;
  readonly agent: AgentWish;
  readonly model: TriedModel | undefined;
  readonly edits: ReturnType<typeof gatewayEdits>;
}

/** Makes the places and writes keys and config. What a reset has set aside comes back when that fails. */
async function write({ scene, agent, model, edits }: Writing, moved: Moved): Promise<string> {
  try {
    const workspace = await makePlaces(scene, agent);
    await (model ? model.save(scene, edits) : writeEdits(scene, edits));
    const { state } = await openScene(scene.io);
    await ensureGatewayToken(state.paths, state.config, { env: scene.io.env });
    return workspace;
  } catch (error) {
    await undoReset(moved);
    throw error;
  }
}

const riskNotAccepted = (): OpenClawError =>
  new OpenClawError("USAGE", {
    message:
      "--non-interactive needs --accept-risk: the agent runs commands, reads files and writes messages for whoever may write to it.",
    fix: "Read docs/concepts/security.md, then add --accept-risk.",
  });

function scopeOf(flags: Flags): (typeof RESET_SCOPES)[number] {
  return RESET_SCOPES.find((scope) => scope === flagText(flags, "reset-scope")) ?? "config+creds+sessions";
}

function agentWish(io: Io, flags: Flags): AgentWish {
  const [name, workspace] = [flagText(flags, "agent-name")?.trim(), flagText(flags, "workspace")];
  if (name === "")
    throw new OpenClawError("USAGE", { message: "The agent's name is empty.", fix: "Give --agent-name." });
  return {
    ...defined({ name, workspace: workspace === undefined ? undefined : placeFrom(workspace, io) }),
    ...(isOn(flags, "skip-bootstrap") && { isBare: true }),
  };
}

function gatewayWish(io: Io, flags: Flags): GatewayWish {
  const variable = flagText(flags, "gateway-token-ref-env");
  if (variable !== undefined && !io.env[variable])
    throw new OpenClawError("USAGE", {
      message: `The variable ${variable} of --gateway-token-ref-env is not set.`,
      fix: "Set it for this command and for the gateway.",
    });
  const token =
    variable === undefined ? secretWish(io, flags, "gateway-token", "OPENCLAW_GATEWAY_TOKEN") : { variable };
  const password = secretWish(io, flags, "gateway-password", "OPENCLAW_GATEWAY_PASSWORD");
  const asked = flagText(flags, "gateway-auth");
  const isToken = asked === "token" || (asked === undefined && token !== undefined);
  const isPassword = asked === "password" || password !== undefined;
  const [port, bind] = [numberOf(flags, "gateway-port"), flagText(flags, "gateway-bind")];
  return {
    ...defined({ port, bind, token, password }),
    ...(isToken && { mode: "token" }),
    ...(isPassword && { mode: "password" }),
  };
}

/** The service says on standard error what it did, because standard output is the report's. */
async function install(io: Io, flags: Flags): Promise<boolean> {
  if (flags["installDaemon"] !== true) return false;
  await serviceInstall({ ...io, out: (text) => io.err(text) }, defined({ port: numberOf(flags, "gateway-port") }));
  return true;
}

/** A gateway that was not wanted need not run. */
function judge(health: Health, flags: Flags): void {
  if (health.kind === "ok" || (health.kind === "none" && flags["installDaemon"] === false)) return;
  throw unhealthy(health);
}

interface Done {
  readonly model: TriedModel | undefined;
  readonly workspace: string;
  readonly moved: Moved;
  readonly installed: boolean;
  readonly health?: Health["kind"];
}

function report({ io, state }: SetupScene, flags: Flags, done: Done): void {
  const { workspace, moved, installed, health } = done;
  const { gateway } = state.config;
  const model = done.model?.name ?? null;
  if (isOn(flags, "json")) {
    writeJson(io, {
      ok: true,
      mode: "local",
      configPath: state.paths.configPath,
      workspace,
      model,
      gateway: { port: gateway.port, bind: gateway.bind, auth: gateway.auth.mode ?? "token" },
      daemonInstalled: installed,
      health: health ?? "skipped",
      setAside: moved,
    });
    return;
  }
  const lines = [
    ...moved.map(({ from, to }) => `Set aside: ${from} → ${to}`),
    `Config: ${state.paths.configPath}`,
    `Workspace: ${workspace}`,
    model === null ? "Model: as it was (skipped)" : `Model: ${model}, which has answered`,
    health === "none" ? "Gateway: not started. Start it: openclaw gateway run" : `Gateway: port ${gateway.port}`,
    ...(isOn(flags, "skip-ui") || isOn(flags, "suppress-gateway-token-output")
      ? []
      : ["Page: openclaw dashboard prints its address"]),
  ];
  io.out(`${lines.join("\n")}\n`);
}
