import { catalogueOf } from "../../providers/build.ts";
import type { ModelHandle } from "../../providers/catalog.ts";
import { LISTING, NO_ANSWER_IN_TIME, scanServer, UNREACHED, type ScanTarget } from "../../providers/scan.ts";
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
}

/** The refusal in words for a person. An unknown model brings the names of the provider's models, if it lists them. */
export async function setupRefusalOf({ ref, kind, said, handle, address }: Refused): Promise<SetupRefusal> {
  const name = labelOf(ref.provider);
  const host = hostOf(handle?.pi.baseUrl ?? address ?? "") ?? name;
  const facts = { name, host, model: modelName(ref), id: ref.id };
  if (kind === "model_missing" && handle) {
    const listed = await knownModels({ ...handle.pi, provider: ref.provider, apiKey: keyIn(handle) });
    if (!("models" in listed) && listed.isNoApi) return { ok: false, reason: kind, said, ...wrongAddress(facts) };
    const models = "models" in listed ? listed.models : [];
    return { ok: false, reason: kind, said, ...plain("model_missing", facts), ...(models.length > 0 && { models }) };
  }
  return { ok: false, reason: kind, said, ...plain(kind, facts) };
}

const keyIn = ({ profile, apiKey }: ModelHandle): string | undefined => (profile.mode === "none" ? undefined : apiKey);

interface Facts {
  readonly name: string;
  readonly host: string;
  readonly model: string;
  readonly id: string;
}

type Words = Pick<SetupRefusal, "message" | "mend">;

const wrongAddress = ({ host }: Facts): Words => ({
  message: `${host} answers, but not as a model server. Check the address: most end with /v1.`,
  mend: "address",
});

const SENTENCES: Readonly<Partial<Record<FailureKind, (facts: Facts) => Words>>> = {
  auth: ({ name }) => ({
    message: `${name} refuses this key. Check that it is complete, not expired, and a key of ${name}.`,
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
    message: id === "" ? `${name} lists no model. Type the name of one.` : `${name} has no model "${id}" for this key.`,
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

function kindOf(problem: string): { readonly kind: FailureKind; readonly isNoApi: boolean } {
  if (problem === UNREACHED) return { kind: "network", isNoApi: false };
  if (problem === NO_ANSWER_IN_TIME) return { kind: "timeout", isNoApi: false };
  if (/^HTTP 40[13]/.test(problem)) return { kind: "auth", isNoApi: false };
  return { kind: "model_missing", isNoApi: !/^HTTP (?:429|5)/.test(problem) };
}
