import type { Answers } from "openclaw/plugin-sdk/answers";
import { fields, nonEmpty } from "../model/json.ts";
import { t } from "../words/words.ts";

/** The setup of an account of one channel. */
export type Setup = Answers["channels.setups"]["channels"][number];
type SetupField = Setup["fields"][number];

/** Where the secrets of an account are: in the config, in a file, or in the gateway's environment. */
export type SecretSource = "typed" | "file" | "env";

const TOKEN_FILE = "tokenFile";

/** Where the secrets of this channel can be; empty if it has no secrets. */
export function sourcesOf(setup: Setup): readonly SecretSource[] {
  const file = setup.fields.some((field) => field.name === TOKEN_FILE);
  const env = setup.fields.some((field) => field.env !== undefined);
  if (!file && !env) return [];
  return ["typed", ...(file ? (["file"] as const) : []), ...(env ? (["env"] as const) : [])];
}

/** The fields of the form for this source of the secrets. */
export function fieldsFor({ fields: all }: Setup, source: SecretSource): readonly SetupField[] {
  if (source === "typed") return all.filter((field) => field.name !== TOKEN_FILE);
  if (source === "env") return all.filter((field) => field.name !== TOKEN_FILE && field.env === undefined);
  return all.flatMap((field) => {
    if (field.required) return [];
    return field.name === TOKEN_FILE ? { ...field, required: true } : field;
  });
}

/** The values that a person entered. */
export interface SetupAnswers {
  readonly channel: string;
  /** Id of the account; empty for the default one. */
  readonly account: string;
  readonly source: SecretSource;
  readonly values: ReadonlyMap<string, string>;
  /** Whether the account exists and gets other values. */
  readonly replace: boolean;
}

/** The parameters of `channels.add`. */
export function setupParams({ channel, account, source, values, replace }: SetupAnswers): Record<string, unknown> {
  return {
    channel,
    ...(account !== "" && { accountId: account }),
    values: Object.fromEntries([...values].filter(([, value]) => value !== "")),
    ...(source === "env" && { useEnv: true }),
    ...(replace && { replace }),
  };
}

/** Why the gateway refused, and which value must change. */
export interface SetupProblem {
  readonly message: string;
  readonly field?: string | undefined;
}

/** The error of a refused request, for a form; the refusal is its cause. */
export function problemOf(error: unknown): SetupProblem {
  if (!(error instanceof Error)) return { message: t("The request failed.") };
  return { message: error.message, field: nonEmpty(fields(fields(error.cause)["refusal"])["field"]) };
}
