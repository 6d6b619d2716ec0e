import { fields, list, nonEmpty, stringOr } from "../model/json.ts";

/** A field of an account's setup. */
export interface SetupField {
  readonly name: string;
  readonly label: string;
  /** Whether the value must not be visible. */
  readonly secret: boolean;
  readonly required: boolean;
  /** The environment variable of the gateway that can contain the value. */
  readonly env?: string | undefined;
}

/** The setup of an account of one channel. */
export interface Setup {
  readonly channel: string;
  readonly label: string;
  /** Whether the account is then linked with a code. */
  readonly login: boolean;
  readonly fields: readonly SetupField[];
}

/** Where the secrets of an account are: in the config, in a file, or in the gateway's environment. */
export type SecretSource = "typed" | "file" | "env";

const TOKEN_FILE = "tokenFile";

/** Reads the answer of `channels.setups`. */
export function readSetups(value: unknown): readonly Setup[] {
  return list(fields(value)["channels"])
    .map(fields)
    .map((row) => {
      const channel = stringOr(row["channel"]);
      const known = list(row["fields"]).map(fields).map(readField);
      return { channel, label: stringOr(row["label"], channel), login: row["login"] === true, fields: known };
    });
}

const readField = (row: Record<string, unknown>): SetupField => ({
  name: stringOr(row["name"]),
  label: stringOr(row["label"]),
  secret: row["secret"] === true,
  required: row["required"] === true,
  env: nonEmpty(row["env"]),
});

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
  if (!(error instanceof Error)) return { message: "The request failed." };
  return { message: error.message, field: nonEmpty(fields(fields(error.cause)["refusal"])["field"]) };
}
