import { catalogueOf } from "../../providers/build.ts";
import type { ModelHandle } from "../../providers/catalog.ts";
import { LISTING, NO_ANSWER_IN_TIME, NO_LIST, scanServer, UNREACHED, type ScanTarget } from "../../providers/scan.ts";
import { isNoSuchPath, isWebPage, kindOfStatus } from "../../providers/failure.ts";
import { isForChat } from "../../providers/local.ts";
import { modelName, type ModelRef } from "../../types/run/model.ts";
import type { FailureKind } from "../../types/run/run.ts";
import { labelOf } from "./model-choices.ts";

/** What a person changes so that the model answers. */
export type Mend = "key" | "model" | "address" | "account" | "budget" | "nothing";

/** A model that did not answer, in words for a person. Nothing was saved. */
export interface SetupRefusal {
  readonly ok: false;
  readonly reason: FailureKind;
  /** One or two sentences. */
  readonly message: string;
  /** What the person can change; `nothing`: to try again later. */
  readonly mend: Mend;
  /** What the provider said, without secrets. */
  readonly said: string;
  /** Models that the provider has, when the model was wrong. */
  readonly models?: readonly string[];
}

interface Refused {
  readonly ref: ModelRef;
  readonly kind: FailureKind;
  readonly said: string;
  readonly handle?: ModelHandle;
  /** The address that was asked, when no handle has it. */
  readonly address?: string;
  /** Whether a key was shown, when no handle has it. */
  readonly hasKey?: boolean;
  /** HTTP status of the answer; unset when none came. */
  readonly httpStatus?: number | undefined;
}

/** The refusal in words for a person. An unknown model brings the names of the provider's models, if it lists them. */
export async function setupRefusalOf(refused: Refused): Promise<SetupRefusal> {
  const { ref, kind, said, handle, address, hasKey = true, httpStatus } = refused;
  const name = labelOf(ref.provider);
  const host = hostOf(handle?.pi.baseUrl ?? address ?? "") ?? name;
  const isKeyed = handle ? keyIn(handle) !== undefined : hasKey;
  const facts = { name, host, model: modelName(ref), id: ref.id, isKeyed };
  const trouble = troubleOf(kind, said, httpStatus);
  if (trouble) return { ok: false, reason: kind, said, ...TROUBLES[trouble](facts) };
  if (kind === "model_missing" && handle) {
    const listed = await knownModels({ ...handle.pi, provider: ref.provider, apiKey: keyIn(handle) });
    if (!("models" in listed) && listed.isNoApi && isNoSuchPath(said))
      return { ok: false, reason: kind, said, ...TROUBLES.not_understood(facts) };
    const models = "models" in listed ? listed.models : [];
    return { ok: false, reason: kind, said, ...plain("model_missing", facts), ...(models.length > 0 && { models }) };
  }
  return { ok: false, reason: kind, said, ...plain(kind, facts) };
}

/** What a server did that was reached, where the kind of the failure does not say it. */
type Trouble = "broken" | "not_understood";

/** A server with an error of its own, or something that answers and is no model server. */
function troubleOf(kind: FailureKind, said: string, httpStatus: number | undefined): Trouble | undefined {
  if (said === NO_LIST || isWebPage(said)) return "not_understood";
  if (httpStatus === undefined) return undefined;
  if (httpStatus >= 500 && (kind === "network" || kind === "unknown")) return "broken";
  return httpStatus < 400 && (kind === "cut_off" || kind === "unknown") ? "not_understood" : undefined;
}

const keyIn = ({ profile, apiKey }: ModelHandle): string | undefined => (profile.mode === "none" ? undefined : apiKey);

interface Facts {
  readonly name: string;
  readonly host: string;
  readonly model: string;
  readonly id: string;
  /** Whether a key was shown. */
  readonly isKeyed: boolean;
}

type Words = Pick<SetupRefusal, "message" | "mend">;

const TROUBLES: Readonly<Record<Trouble, (facts: Facts) => Words>> = {
  broken: ({ host }) => ({
    message: `${host} was reached, but has an error of its own. Try again later, or look into the log of that server.`,
    mend: "nothing",
  }),
  not_understood: ({ host }) => ({
    message: `${host} answers, but not as a model server. Check the address: most end with /v1.`,
    mend: "address",
  }),
};

const SENTENCES: Readonly<Partial<Record<FailureKind, (facts: Facts) => Words>>> = {
  auth: ({ name, isKeyed }) => ({
    message: isKeyed
      ? `${name} refuses this key. Check that it is complete, not expired, and a key of ${name}.`
      : `${name} answers nobody without a key. Type the key.`,
    mend: "key",
  }),
  billing: ({ name }) => ({
    message: `${name} accepts the key, but its account has no credit left. Add credit there, or use another key.`,
    mend: "account",
  }),
  rate_limit: ({ name }) => ({
    message: `${name} takes no more requests with this key for now: its limit is reached. Try again in a minute.`,
    mend: "nothing",
  }),
  overloaded: ({ name }) => ({ message: `${name} is overloaded. Try again in a minute.`, mend: "nothing" }),
  loading: ({ model }) => ({ message: `${model} is being loaded. Try again in a minute.`, mend: "nothing" }),
  timeout: ({ host }) => ({ message: `${host} did not answer in time. Try again.`, mend: "nothing" }),
  network: ({ host }) => ({
    message: `${host} cannot be reached from the machine of the gateway. Check its network and the address.`,
    mend: "address",
  }),
  model_missing: ({ name, id }) => ({
    message:
      id === ""
        ? `${name} lists no model. Type the name of one, or check the address: most end with /v1.`
        : `${name} has no model "${id}" for this key.`,
    mend: "model",
  }),
  budget: () => ({
    message: "A spending limit of this gateway (budgets) allows no further call today.",
    mend: "budget",
  }),
};

const plain = (kind: FailureKind, facts: Facts): Words =>
  SENTENCES[kind]?.(facts) ?? { message: `${facts.name} answered with an error instead of a text.`, mend: "model" };

function hostOf(baseUrl: string): string | undefined {
  return URL.canParse(baseUrl) ? new URL(baseUrl).host : undefined;
}

/** The most names that are handed on. */
const MOST_MODELS = 500;
const LIST_MS = 10_000;

type Listed =
  | { readonly models: readonly string[] }
  | {
      readonly kind: FailureKind;
      readonly said: string;
      readonly httpStatus?: number;
      /** Something answers there that is no model server. */
      readonly isNoApi: boolean;
    };

/** The models for chats that a server lists, or the catalogue has of its provider when the server has no list. Never rejects. */
export async function knownModels(target: ScanTarget): Promise<Listed> {
  if (!LISTING.has(target.api ?? "")) {
    const known = await catalogueOf(target.provider);
    return { models: known.map(({ id }) => id).slice(0, MOST_MODELS) };
  }
  const { models, problem } = await scanServer(target, LIST_MS);
  if (problem === undefined)
    return {
      models: models
        .map(({ id }) => id)
        .filter(isForChat)
        .slice(0, MOST_MODELS),
    };
  return { ...kindOf(problem), said: problem };
}

function kindOf(problem: string): Pick<Extract<Listed, { kind: unknown }>, "kind" | "httpStatus" | "isNoApi"> {
  if (problem === UNREACHED) return { kind: "network", isNoApi: false };
  if (problem === NO_ANSWER_IN_TIME) return { kind: "timeout", isNoApi: false };
  const httpStatus = Number(/^HTTP (\d{3})$/.exec(problem)?.[1] ?? 200);
  if (httpStatus < 400) return { kind: "unknown", isNoApi: true, httpStatus };
  return { kind: kindOfStatus(httpStatus), isNoApi: httpStatus < 429, httpStatus };
}
