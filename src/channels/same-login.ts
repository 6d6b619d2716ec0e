import { z } from "zod";
import { Secret } from "../types/secret.ts";
import { accountInputs, defaultAccountIn } from "./config.ts";

type Settings = Readonly<Record<string, unknown>>;

/** An enabled account that logs in as another one of its channel does. */
export interface SameLogin {
  readonly id: string;
  /** The key of the account's login. */
  readonly key: string;
  /** The account that keeps the login: the default account, or else the first one in the config. */
  readonly as: string;
}

/** The step that solves the problem. */
export const SAME_LOGIN_FIX = "Give it a bot of its own, or remove it from openclaw.json.";

/**
 * Accounts with a login of another account: the platform would bring each message to all of these accounts. `schema` is
 * that of an account, in which the adapter has marked the keys of its login (`ofLogin`).
 */
export function sameLogins(section: Settings, schema: z.ZodType | undefined): readonly SameLogin[] {
  const first = defaultAccountIn(section);
  const on = accountInputs(section).filter(({ input }) => input["enabled"] !== false);
  const kept = new Map<string, string>();
  return on
    .toSorted((one, other) => Number(other.id === first) - Number(one.id === first))
    .flatMap(({ id, input }) => {
      const login = loginOf(input, schema);
      if (login === undefined) return [];
      const as = kept.get(login.value);
      if (as !== undefined) return [{ id, key: login.key, as }];
      kept.set(login.value, id);
      return [];
    });
}

/** The key of a login that a channel has beside accounts of which none uses it. */
export function unusedLogin(section: Settings, schema: z.ZodType | undefined): string | undefined {
  const { accounts, ...base } = section;
  if (!isSettings(accounts) || Object.keys(accounts).length === 0) return undefined;
  const login = loginOf(base, schema);
  const isUsed = accountInputs(section).some(({ input }) => loginOf(input, schema)?.value === login?.value);
  return isUsed ? undefined : login?.key;
}

/** The same for all accounts that are on one server of the platform. `settings`: as the schema parses them. */
export const serverOf = (settings: unknown, schema: z.ZodType): string =>
  JSON.stringify(marked(schema, "server").map((key) => textOf(isSettings(settings) ? settings[key] : undefined)));

/** Undefined for an account without a login: one that is incomplete, or that is linked rather than configured. */
function loginOf(input: Settings, schema: z.ZodType | undefined): { key: string; value: string } | undefined {
  const key = schema && marked(schema, "login").find((name) => textOf(input[name]) !== "");
  if (!schema || key === undefined) return undefined;
  const { data = input } = schema.safeParse(input);
  return { key, value: `${key}\n${textOf(input[key])}\n${serverOf(data, schema)}` };
}

const marked = (schema: z.ZodType, part: "login" | "server"): readonly string[] =>
  schema instanceof z.ZodObject
    ? Object.entries<z.ZodType>(schema.shape).flatMap(([key, field]) => (field.meta()?.["login"] === part ? [key] : []))
    : [];

function textOf(value: unknown): string {
  if (value instanceof Secret) return value.reveal();
  return typeof value === "string" ? value : "";
}

const isSettings = (value: unknown): value is Settings => typeof value === "object" && value !== null;
