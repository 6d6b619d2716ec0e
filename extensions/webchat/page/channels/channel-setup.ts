import { fields, list, text, word } from "../protocol/json.ts";

/** One thing that an account is asked for. */
export interface SetupField {
  readonly name: string;
  readonly label: string;
  /** Must not be shown while it is typed. */
  readonly secret: boolean;
  readonly required: boolean;
  /** The variable of the gateway's environment that can hold it. */
  readonly env?: string | undefined;
}

/** What an account of one channel is asked for. */
export interface Setup {
  readonly channel: string;
  readonly label: string;
  /** It is linked by a code afterwards. */
  readonly login: boolean;
  readonly fields: readonly SetupField[];
}

/** Where the secrets of an account lie: in the config as they are typed, in a file, or in the gateway's environment. */
export type Source = "typed" | "file" | "env";

const TOKEN_FILE = "tokenFile";

/** Reads the answer of `channels.setups`. */
export function readSetups(value: unknown): readonly Setup[] {
  return list(fields(value)["channels"])
    .map(fields)
    .map((row) => {
      const channel = text(row["channel"]);
      const asked = list(row["fields"]).map(fields).map(readField);
      return { channel, label: text(row["label"], channel), login: row["login"] === true, fields: asked };
    });
}

const readField = (row: Record<string, unknown>): SetupField => ({
  name: text(row["name"]),
  label: text(row["label"]),
  secret: row["secret"] === true,
  required: row["required"] === true,
  env: word(row["env"]),
});

/** Where the secrets of this channel may lie; none where it has no secrets. */
export function sourcesOf(setup: Setup): readonly Source[] {
  const file = setup.fields.some((field) => field.name === TOKEN_FILE);
  const env = setup.fields.some((field) => field.env !== undefined);
  if (!file && !env) return [];
  return ["typed", ...(file ? (["file"] as const) : []), ...(env ? (["env"] as const) : [])];
}

/** What is asked for when the secrets lie there. */
export function fieldsFor({ fields: all }: Setup, source: Source): readonly SetupField[] {
  if (source === "typed") return all.filter((field) => field.name !== TOKEN_FILE);
  if (source === "env") return all.filter((field) => field.name !== TOKEN_FILE && field.env === undefined);
  return all.flatMap((field) => {
    if (field.required) return [];
    return field.name === TOKEN_FILE ? { ...field, required: true } : field;
  });
}

/** What a person answered. */
export interface SetupAnswers {
  readonly channel: string;
  /** Empty for the one that needs no name. */
  readonly account: string;
  readonly source: Source;
  readonly values: ReadonlyMap<string, string>;
  /** The account is there and gets other values. */
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

/** Why the gateway did not do it, and which answer has to be another one. */
export interface SetupProblem {
  readonly message: string;
  readonly field?: string | undefined;
}

/** What a request that was refused says to a form; the refusal is its cause. */
export function problemOf(error: unknown): SetupProblem {
  if (!(error instanceof Error)) return { message: "It failed." };
  return { message: error.message, field: word(fields(fields(error.cause)["refusal"])["field"]) };
}
