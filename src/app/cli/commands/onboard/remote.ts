import { OpenClawError } from "../../../../types/errors.ts";
import { Secret } from "../../../../types/secret.ts";
import { checkUrl } from "../../address.ts";
import { connectGateway } from "../../client.ts";
import { writeJson, type Io } from "../../io.ts";
import { withProgress } from "../../progress.ts";
import { PASSWORD_VARIABLE, TOKEN_VARIABLE } from "../../../config/gateway-login.ts";
import { valueAt } from "../../../config/schema/problem.ts";
import { flagText, isOn, type Flags } from "./flags.ts";
import { openScene, writeEdits } from "./scene.ts";
import { StepLeft, TerminalQuestions } from "./talk.ts";
import { secretWish, valueOf, type SecretWish } from "./settings.ts";

/**
 * `onboard --mode remote`: the commands of this machine talk to a gateway elsewhere. It has to accept the login once before anything
 * is written. Throws USAGE, GATEWAY_UNREACHABLE, GATEWAY_UNAUTHORIZED or GATEWAY_BUSY.
 */
export async function onboardRemote(io: Io, flags: Flags): Promise<number> {
  refuseLocalFlags(flags);
  const { configPath, url, auth, version } = await connectRemote(io, flags);
  if (isOn(flags, "json")) writeJson(io, { ok: true, mode: "remote", configPath, remoteUrl: url, auth, version });
  else io.out(`Config: ${configPath}\nGateway: ${version} at ${url}, which the commands talk to from now on\n`);
  return 0;
}

/** The same with questions at a terminal, until the gateway accepts the login. Returns the exit code: 0 also when the person has left. */
export async function onboardRemoteByTalk(io: Io, flags: Flags): Promise<number> {
  refuseLocalFlags(flags);
  const scene = await openScene(io);
  const known = valueAt(scene.file, ["gateway", "remote", "url"]);
  const talk = await TerminalQuestions.open();
  talk.begin("A gateway elsewhere");
  for (let initial = flagText(flags, "remote-url") ?? (typeof known === "string" ? known : undefined); ;) {
    try {
      const asked = await askedLogin(talk, flags, initial);
      initial = asked.remoteUrl;
      const { configPath, url, version } = await connectRemote(io, { ...flags, ...asked });
      talk.done(`${configPath} says where it is. The commands of this machine talk to it from now on.`);
      talk.end(`Gateway ${version} at ${url}. Its page: openclaw dashboard`);
      return 0;
    } catch (error) {
      if (error instanceof StepLeft && error.way === "again") continue;
      if (error instanceof StepLeft) break;
      if (!(error instanceof OpenClawError) || !MENDABLE.has(error.code)) throw error;
      talk.failed(error);
    }
  }
  talk.end("Left. Nothing was changed.");
  return 0;
}

/** What another address or another login may mend. */
const MENDABLE: ReadonlySet<string> = new Set(["GATEWAY_UNREACHABLE", "GATEWAY_UNAUTHORIZED", "GATEWAY_BUSY"]);

interface AskedLogin {
  readonly remoteUrl: string;
  readonly remoteToken?: string;
  readonly remotePassword?: string;
}

async function askedLogin(talk: TerminalQuestions, flags: Flags, initial: string | undefined): Promise<AskedLogin> {
  const remoteUrl = await talk.type({
    message: "Address of the gateway",
    placeholder: "wss://gateway.example.org, or ws://host:18789",
    ...(initial !== undefined && { initial }),
    check: (text) =>
      /^wss?:\/\/[^/]/.test(text) && URL.canParse(text) ? undefined : "Write it as wss://host or ws://host:18789.",
  });
  if (["remote-token", "remote-password"].some((name) => flagText(flags, name) !== undefined)) return { remoteUrl };
  const login = await talk.choose("How does it let you in?", [
    { value: "token", label: "With its token", hint: "openclaw dashboard shows it on that machine, after #token=" },
    { value: "password", label: "With a password" },
    { value: "variable", label: `As ${TOKEN_VARIABLE} or ${PASSWORD_VARIABLE} says`, hint: "nothing is stored" },
  ]);
  if (login === "variable") return { remoteUrl };
  const secret = await talk.typeHidden({ message: login === "token" ? "Token" : "Password" });
  return { remoteUrl, [login === "token" ? "remoteToken" : "remotePassword"]: secret };
}

interface Connected {
  readonly configPath: string;
  readonly url: string;
  readonly auth: "token" | "password" | "none";
  readonly version: string;
}

/** Logs in once, then writes the address and the login. Throws as `onboardRemote`. */
async function connectRemote(io: Io, flags: Flags): Promise<Connected> {
  const url = urlOf(flags);
  const wishes = {
    token: secretWish(io, flags, "remote-token", TOKEN_VARIABLE),
    password: secretWish(io, flags, "remote-password", PASSWORD_VARIABLE),
  };
  const scene = await openScene(io);
  const token = secretOf(io, wishes.token, TOKEN_VARIABLE);
  const password = secretOf(io, wishes.password, PASSWORD_VARIABLE);
  const version = await withProgress(io, `Asking ${url}`, versionAt({ url, token, password, isElsewhere: true }));
  const isSame = valueAt(scene.file, ["gateway", "remote", "url"]) === url;
  const logins = (["token", "password"] as const).flatMap((name) => {
    const wish = wishes[name];
    const path = ["gateway", "remote", name];
    if (wish) return [{ path, value: valueOf(wish) }];
    // Another gateway does not get the login of the one before.
    return isSame || valueAt(scene.file, path) === undefined ? [] : [{ path, value: undefined }];
  });
  await writeEdits(scene, [
    { path: ["gateway", "mode"], value: "remote" },
    { path: ["gateway", "remote", "url"], value: url },
    ...logins,
  ]);
  const auth = (token && "token") ?? (password && "password") ?? "none";
  return { configPath: scene.state.paths.configPath, url, auth, version };
}

async function versionAt(address: Parameters<typeof connectGateway>[0]): Promise<string> {
  const client = await connectGateway(address);
  client.close();
  return client.version;
}

function urlOf(flags: Flags): string {
  const url = flagText(flags, "remote-url")?.trim();
  if (url) return checkUrl(url);
  throw new OpenClawError("USAGE", {
    message: "--mode remote needs the address of the gateway.",
    fix: "Add --remote-url ws://host:18789 (wss:// through a proxy with TLS) and --remote-token.",
  });
}

/** A login that is not given is the one of the variable, which the commands read too. */
function secretOf({ env }: Io, wish: SecretWish | undefined, variable: string): Secret | undefined {
  const text = wish && "text" in wish ? wish.text : env[variable]?.trim();
  return text ? new Secret(text) : undefined;
}

const ALLOWED = new Set([
  "acceptRisk",
  "authChoice",
  "json",
  "mode",
  "nonInteractive",
  "remotePassword",
  "remoteToken",
  "remoteUrl",
  "secretInputMode",
  "skipBootstrap",
  "skipChannels",
  "skipDaemon",
  "skipHealth",
  "skipHooks",
  "skipSearch",
  "skipSkills",
  "skipUi",
  "suppressGatewayTokenOutput",
]);

/** Everything else is set up on the machine of that gateway. */
function refuseLocalFlags(flags: Flags): void {
  const name = Object.keys(flags).find((one) => {
    const value = flags[one];
    return value !== undefined && value !== false && !ALLOWED.has(one);
  });
  const choice = flagText(flags, "auth-choice");
  const wrong = name ?? (choice === undefined || choice === "skip" ? undefined : "authChoice");
  if (wrong === undefined) return;
  throw new OpenClawError("USAGE", {
    message: `--${wrong.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} belongs to a gateway on this machine.`,
    fix: "Leave it out: --mode remote only says which gateway the commands talk to.",
  });
}
