import type { Answers } from "openclaw/plugin-sdk/answers";
import { t } from "../words/words.ts";

type Detected = Answers["openclaw.setup.detect"];
type Activated = Answers["openclaw.setup.activate"];

/** A way to a model that a person can choose. */
export interface ModelWay {
  readonly id: string;
  readonly label: string;
  /** `key`: the person types a key. `server`: also the address of a server. `found`: the gateway found key or server. */
  readonly asks: "found" | "key" | "server";
  /** The page of the provider on which keys are made; empty when unknown. */
  readonly website: string;
  /** What the keys of the provider begin with, and those of no other. */
  readonly keyStarts: readonly string[];
  /** The provider's id; empty for a server that is not known yet. */
  readonly provider: string;
  /** Id of the usual model, and of all that are known. */
  readonly model: string;
  readonly models: readonly string[];
  /** The parameters of `openclaw.setup.activate` for this choice. */
  readonly params: Readonly<Record<string, string>>;
}

const CUSTOM = "custom-api-key";

/** The choices: what was found first, then the providers, then any other server. */
export function waysToModels({ candidates, manualProviders }: Detected): readonly ModelWay[] {
  const found = candidates
    .filter(({ kind }) => kind !== "existing-model")
    .map(({ kind, label, detail, modelRef, modelRefs = [] }): ModelWay => {
      const provider = modelRef.slice(0, modelRef.indexOf("/"));
      const models = modelRefs.map((ref) => idOf(ref, provider));
      const model = idOf(modelRef, provider);
      const shown = { id: kind, label: `${label} (${detail})`, website: "", keyStarts: [] };
      return { ...shown, asks: "found", provider, model, models, params: { kind } };
    });
  const typed = manualProviders.map(
    ({ id, label, website = "", provider = "", keyStarts = [], modelRef = "" }): ModelWay => {
      const model = idOf(modelRef, provider);
      const asks = id === CUSTOM ? "server" : "key";
      const params = { kind: "api-key", authChoice: id };
      return {
        id,
        label: asks === "server" ? t("Another server") : label,
        asks,
        website,
        keyStarts,
        provider,
        model,
        models: [],
        params,
      };
    },
  );
  return [...found, ...typed];
}

/** The choice at first: what the gateway recommends, or the provider of the model that answers now. */
export function firstChoice(choices: readonly ModelWay[], { candidates }: Detected, provider: string): string {
  const wanted = candidates.find(({ recommended, kind }) => recommended && kind !== "existing-model")?.kind;
  const now = choices.find((choice) => choice.asks === "key" && choice.provider === provider)?.id;
  return now ?? wanted ?? choices.find(({ asks }) => asks === "key")?.id ?? "";
}

/** The provider that makes keys of this form. */
export const wayOfKey = (choices: readonly ModelWay[], key: string): ModelWay | undefined =>
  choices.find(({ keyStarts }) => keyStarts.some((start) => key.trim().startsWith(start)));

const idOf = (ref: string, provider: string): string =>
  provider !== "" && ref.startsWith(`${provider}/`) ? ref.slice(provider.length + 1) : ref;

/** Why the model did not answer, and the field whose value mends it. */
export interface ModelProblem {
  readonly message: string;
  readonly field: string | undefined;
  /** What the provider said; empty when it said nothing. */
  readonly said: string;
  readonly models: readonly string[];
  /** The account of the key has no credit. */
  readonly isAccount: boolean;
  /** The same values may work later. */
  readonly mayRepeat: boolean;
}

const FIELDS: Readonly<Record<string, string>> = { key: "apiKey", model: "modelRef", address: "baseUrl" };

/** The problem of an answer; undefined when the model answered and is saved. */
export function modelProblem(
  { ok, error, mend, said, models }: Activated,
  asks: ModelWay["asks"],
): ModelProblem | undefined {
  if (ok) return undefined;
  const field = FIELDS[mend ?? ""];
  const isHere =
    field === "modelRef" || (field === "apiKey" && asks !== "found") || (field === "baseUrl" && asks === "server");
  return {
    message: error ?? t("The model did not answer."),
    field: isHere ? field : undefined,
    said: said ?? "",
    models: models ?? [],
    isAccount: mend === "account",
    mayRepeat: mend === "nothing" || mend === "account" || (field !== undefined && !isHere),
  };
}
