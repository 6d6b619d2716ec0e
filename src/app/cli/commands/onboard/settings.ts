import { makeDirectory } from "../../../../store/make-directory.ts";
import { hasWorkspace, seedWorkspace } from "../../../../prompt/bootstrap.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { agentEdits, type Edit } from "../../../agents/agent-file.ts";
import { writtenPath } from "../../../agents/agent-id.ts";
import { PASSWORD_VARIABLE } from "../../../config/gateway-login.ts";
import { makeStateDirs } from "../../../config/paths.ts";
import { valueAt } from "../../../config/schema/problem.ts";
import type { Io } from "../../io.ts";
import { flagText, type Flags } from "./flags.ts";
import { mainAgent, type SetupScene } from "./scene.ts";

/** The agent that answers, as a person wants it. What is unset stays. */
export interface AgentWish {
  readonly name?: string;
  /** Absolute. */
  readonly workspace?: string;
  /** The workspace gets no files to begin with. */
  readonly isBare?: boolean;
}

export function agentWishEdits(scene: SetupScene, { name, workspace, isBare }: AgentWish): readonly Edit[] {
  const { file, state } = scene;
  const defaults = ["agents", "defaults"];
  return [
    ...(name === undefined ? [] : agentEdits(file, mainAgent(scene).id, [["name", name]])),
    ...(workspace === undefined
      ? []
      : [{ path: [...defaults, "workspace"], value: writtenPath(workspace, state.paths.stateDir) }]),
    ...(isBare === true ? [{ path: [...defaults, "skipBootstrap"], value: true }] : []),
  ];
}

/** Makes the directories of the state, and the workspace with the files that an agent begins with. Throws WORKSPACE_UNUSABLE. */
export async function makePlaces(scene: SetupScene, { workspace, isBare }: AgentWish): Promise<string> {
  const place = workspace ?? mainAgent(scene).workspace;
  await makeStateDirs(scene.state.paths);
  await hasWorkspace(place);
  if (isBare === true || mainAgent(scene).prompt.skipBootstrap) await makeDirectory(place);
  else await seedWorkspace(place);
  return place;
}

/** A secret of the gateway: the text, or the variable that has it. */
export type SecretWish = { readonly text: string } | { readonly variable: string };

/** With `--secret-input-mode ref` a secret is the one of its variable, to which the config refers. */
export function secretWish(io: Io, flags: Flags, flag: string, variable: string): SecretWish | undefined {
  const text = flagText(flags, flag);
  if (text === undefined) return undefined;
  if (text.trim() === "" || /\s/.test(text))
    throw new OpenClawError("USAGE", { message: `--${flag} is not one word.`, fix: "Give one without blanks." });
  if (flagText(flags, "secret-input-mode") !== "ref") return { text };
  if (io.env[variable] === text) return { variable };
  throw new OpenClawError("USAGE", {
    message: `--secret-input-mode ref keeps no secret, and ${variable} is not what --${flag} says.`,
    fix: `Set ${variable} to it, for this command and for the gateway.`,
  });
}

/** Where the gateway listens and how clients log in, as a person wants it. What is unset stays. */
export interface GatewayWish {
  readonly port?: number;
  readonly bind?: string;
  readonly token?: SecretWish;
  readonly password?: SecretWish;
  readonly mode?: "token" | "password";
}

/** Fewest characters of a token that others on the network may try: the gateway does not start with fewer. */
const LEAST_PUBLIC_TOKEN = 16;

/** Throws USAGE for wishes with which the gateway would not start. */
export function gatewayEdits(scene: SetupScene, wish: GatewayWish): readonly Edit[] {
  refuseUnfit(scene, wish);
  const { port, bind, token, password, mode } = wish;
  const given: readonly (readonly [readonly string[], unknown])[] = [
    [["mode"], valueAt(scene.file, ["gateway", "mode"]) === "local" ? undefined : "local"],
    [["port"], port],
    [["bind"], bind],
    [["auth", "mode"], mode],
    [["auth", "token"], token && valueOf(token)],
    [["auth", "password"], password && valueOf(password)],
  ];
  return given.flatMap(([path, value]) => (value === undefined ? [] : [{ path: ["gateway", ...path], value }]));
}

function refuseUnfit({ state, io }: SetupScene, { bind, token, password, mode }: GatewayWish): void {
  const { gateway } = state.config;
  if (mode === "password" && !password && !gateway.auth.password && !io.env[PASSWORD_VARIABLE])
    throw unfit("Password mode needs a password.", `Add --gateway-password <password>, or set ${PASSWORD_VARIABLE}.`);
  if (bind === "custom" && gateway.customBindHost === undefined)
    throw unfit(
      'The address "custom" needs one that is named.',
      "First: openclaw config set gateway.customBindHost <IP address>",
    );
  if (["loopback", "auto"].includes(bind ?? gateway.bind) || !token) return;
  const text = "text" in token ? token.text : (io.env[token.variable] ?? "");
  if (text.length >= LEAST_PUBLIC_TOKEN) return;
  throw unfit(
    `Others on the network could guess a token of ${text.length} characters.`,
    `Give one of ${LEAST_PUBLIC_TOKEN} or more, or none: the gateway makes one.`,
  );
}

export const valueOf = (secret: SecretWish): unknown =>
  "text" in secret ? secret.text : { source: "env", provider: "default", id: secret.variable };

/**
 * Edits of a config that is set up for the first time: everybody who writes has a conversation of their own, so that the second
 * person does not read what the first one wrote.
 */
export const firstEdits = ({ file }: SetupScene): readonly Edit[] =>
  valueAt(file, ["session", "dmScope"]) === undefined
    ? [{ path: ["session", "dmScope"], value: "per-channel-peer" }]
    : [];

const unfit = (message: string, fix: string): OpenClawError => new OpenClawError("USAGE", { message, fix });
