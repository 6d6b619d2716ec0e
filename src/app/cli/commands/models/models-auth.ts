import { text as readAll } from "node:stream/consumers";
import type { Credential } from "../../../../providers/auth/credential.ts";
import { reportProfiles, type ProfileReport } from "../../../../providers/auth/report.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { Secret } from "../../../../types/secret.ts";
import { askHidden, canAsk } from "../../ask.ts";
import { writeJson, type Io } from "../../io.ts";
import { table } from "../../table.ts";
import { openModelState, type ModelState } from "./models-state.ts";
import { profileJson, profileRow } from "./models-status.ts";
import { own } from "../../../../utils/own.ts";

interface AgentFlag {
  /** Whose keys; those of all agents when unset. */
  readonly agent?: string;
}

interface ProviderFlag extends AgentFlag {
  readonly provider?: string;
}

/** The stored keys, in the order in which they are tried. */
export async function authList(io: Io, flags: ProviderFlag & { json?: boolean }): Promise<number> {
  const modelState = await openModelState(io, flags.agent);
  const reports = (await reportStored(modelState)).filter(
    ({ provider }) => flags.provider === undefined || provider === flags.provider,
  );
  if (flags.json === true) {
    writeJson(io, { storePath: modelState.credentials.path, profiles: reports.map(profileJson) });
    return 0;
  }
  const rows = reports.map(profileRow);
  io.out(rows.length === 0 ? "No stored key.\n" : table(io, ["KEY", "KIND", "STATE", "WHOSE"], rows));
  return 0;
}

async function reportStored({
  credentials,
  models,
  cooldowns: rests,
  state,
}: ModelState): Promise<readonly ProfileReport[]> {
  const stored = await credentials.read();
  const providers = [...new Set([...stored.profiles.values()].map((credential) => credential.provider))].toSorted();
  const all = await Promise.all(
    providers.map(async (provider) => {
      const usable = await models.profiles({ provider, id: "model" });
      return reportProfiles(provider, usable, { stored, auth: state.config.auth, rests, now: Date.now() });
    }),
  );
  return all.flat().filter(({ id }) => stored.profiles.has(id));
}

export interface AuthAddFlags extends AgentFlag {
  readonly provider?: string;
  readonly profileId?: string;
  readonly expiresIn?: number;
}

/** Stores an API key, typed without an echo or read from a pipe. Throws USAGE on an empty one. */
export async function authAdd(io: Io, flags: AuthAddFlags & { readonly provider: string }): Promise<number> {
  const id = flags.profileId ?? `${flags.provider}:default`;
  checkId(id, flags.provider);
  const key = await readSecret(io, `API key of ${flags.provider}: `, `add --provider ${flags.provider}`);
  return store(io, id, { type: "api_key", provider: flags.provider, key }, flags);
}

/** Stores a token, such as one of `claude setup-token`, from standard input. Throws USAGE. */
export async function authPasteToken(io: Io, flags: AuthAddFlags): Promise<number> {
  const provider = flags.provider ?? flags.profileId?.split(":")[0];
  if (provider === undefined || provider === "") {
    throw new OpenClawError("USAGE", {
      message: "Whose token is it?",
      fix: "Add --provider anthropic, or --profile-id anthropic:work.",
    });
  }
  const id = flags.profileId ?? `${provider}:manual`;
  checkId(id, provider);
  const token = await readSecret(io, `Token of ${provider}: `, `paste-token --provider ${provider}`);
  const { expiresIn } = flags;
  const expires = expiresIn === undefined ? {} : { expires: Date.now() + expiresIn };
  return store(io, id, { type: "token", provider, token, ...expires }, flags);
}

async function store(io: Io, id: string, credential: Credential, { agent }: AgentFlag): Promise<number> {
  const modelState = await openModelState(io, agent);
  const { credentials } = modelState;
  await credentials.put(id, credential);
  io.out(`Stored ${id} in ${credentials.path}; a running gateway uses it from the next call on.\n`);
  const [report] = (await reportStored(modelState)).filter((one) => one.id === id && one.status === "unusable");
  if (report)
    io.err(
      `It cannot be used yet: ${report.note ?? "no model needs it"}. See the names: openclaw models list --all; ` +
        "another provider is described below models.providers.\n",
    );
  return 0;
}

/** Checks the name of a key. `config`, `env`, `none` and `plugin` are reserved for keys that are not stored. Throws USAGE. */
export function checkId(id: string, provider: string): void {
  const [owner, ...name] = id.split(":");
  const isTaken = ["config", "env", "none", "plugin"].includes(name.join(":"));
  if (owner === provider && name.join(":") !== "" && !isTaken && !/\s/.test(id)) return;
  throw new OpenClawError("USAGE", {
    message: `"${id}" is no name for a key of ${provider}.`,
    fix: `Write it as ${provider}:work; config, env, none and plugin are taken.`,
  });
}

/** Reads from a pipe, or from a person without showing the input. */
async function readSecret(io: Io, question: string, command: string): Promise<Secret> {
  const given = (canAsk(io) ? await askHidden(question) : await readPiped()).trim();
  if (given !== "" && !/\s/.test(given)) return new Secret(given);
  throw new OpenClawError("USAGE", {
    message: given === "" ? "Nothing was given." : "A key is one word, without blanks.",
    fix: `Paste it, or pipe it in: openclaw models auth ${command} < file`,
  });
}

/** The error of a command that needs input without a terminal. */
export const nobodyToAsk = (why: string): OpenClawError =>
  new OpenClawError("USAGE", {
    message: `${why} There is nobody to ask here.`,
    fix: "Run it in a terminal, or pipe a token into: openclaw models auth paste-token --provider <id>",
  });

async function readPiped(): Promise<string> {
  if (process.stdin.isTTY === true) throw nobodyToAsk("A key is needed.");
  return readAll(process.stdin);
}

/** Deletes a stored key; the provider is not informed. Throws NOT_FOUND. */
export async function authLogout(io: Io, id: string, { agent }: AgentFlag): Promise<number> {
  const { credentials } = await openModelState(io, agent);
  if (!(await credentials.remove(id))) throw await unknownKey({ credentials }, id);
  io.out(`${id} is gone from ${credentials.path}.\n`);
  return 0;
}

async function unknownKey({ credentials }: Pick<ModelState, "credentials">, id: string): Promise<OpenClawError> {
  const ids = [...(await credentials.read()).profiles.keys()];
  return new OpenClawError("NOT_FOUND", {
    message: `There is no stored key "${id}".`,
    fix: ids.length === 0 ? "Nothing is stored." : `Stored are: ${ids.join(", ")}.`,
  });
}

/** The order in which the stored keys of a provider are tried, and where it comes from. */
export async function orderGet(io: Io, flags: AgentFlag & { provider: string; json?: boolean }): Promise<number> {
  const { provider, agent } = flags;
  const modelState = await openModelState(io, agent);
  const { order } = await modelState.credentials.read();
  const byConfig = agent === undefined ? own(modelState.state.config.auth.order, provider) : undefined;
  const source = byConfig ? "auth.order" : "the credentials file";
  const given = byConfig ?? own(order, provider);
  const tried = (await modelState.models.profiles({ provider, id: "model" })).map(({ profile }) => profile.id);
  if (flags.json === true) writeJson(io, { provider, order: given ?? null, source: given ? source : null, tried });
  else io.out(`${tried.length === 0 ? "No key." : tried.join("\n")}\n`);
  if (flags.json !== true) io.err(given ? `By ${source}.\n` : "By the usual rule: logins, tokens, keys.\n");
  return 0;
}

interface OrderFlags extends AgentFlag {
  readonly provider: string;
}

/** Orders the stored keys of a provider; those not named are left out. Throws NOT_FOUND, USAGE. */
export async function orderSet(io: Io, { provider, agent }: OrderFlags, ids: readonly string[]): Promise<number> {
  const modelState = await openModelState(io, agent);
  const { profiles } = await modelState.credentials.read();
  for (const id of ids) {
    const owner = profiles.get(id)?.provider;
    if (owner === undefined) throw await unknownKey(modelState, id);
    if (owner !== provider)
      throw new OpenClawError("USAGE", { message: `${id} is a key of ${owner}.`, fix: `Name keys of ${provider}.` });
  }
  await modelState.credentials.setOrder(provider, [...new Set(ids)]);
  io.out(`Keys of ${provider} are tried in this order: ${ids.join(", ")}.\n`);
  if (agent === undefined && own(modelState.state.config.auth.order, provider))
    io.err("It has no effect while the config has auth.order for it.\n");
  return 0;
}

/** Restores the default order. */
export async function orderClear(io: Io, { provider, agent }: OrderFlags): Promise<number> {
  const { credentials } = await openModelState(io, agent);
  if (Object.hasOwn((await credentials.read()).order, provider)) await credentials.setOrder(provider, undefined);
  io.out(`Keys of ${provider} are tried by the usual rule.\n`);
  return 0;
}
