import { isSecretName } from "./secret-name.ts";

/** Makes the text that takes the place of a secret. */
type Replace = (secret: string) => string;

/** Keys and tokens whose services give them a form of their own. */
const OWN_FORMS = new RegExp(
  [
    String.raw`\bsk-[\w-]{16,}`,
    String.raw`\b(?:gh[oprsu]_|github_pat_|glpat-|hf_|gsk_|npm_|pypi-|r8_|pplx-|xai-|lin_api_|sq0[a-z]{3}-|shp(?:at|ss)_|dop_v1_)[\w-]{16,}`,
    String.raw`\b(?:xox[a-z]-|xapp-)[\w-]{10,}`,
    String.raw`\b(?:sk|rk|pk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}`,
    String.raw`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`,
    String.raw`\bAIza[\w-]{30,}`,
    String.raw`\b\d{6,12}:[\w-]{30,}`,
    String.raw`\b[MNO][\w-]{20,30}\.[\w-]{6}\.[\w-]{25,}`,
    String.raw`\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}`,
    String.raw`-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)`,
  ].join("|"),
  "g",
);
const USER_OF_ADDRESS = /([a-z][a-z0-9+.-]{0,20}:\/\/)([^/\s@]+)(?=@)/gi;
const SECRET_PARAMETER = /([?&][^=&\s]{0,100}(?:key|token|secret|password|passwd|pwd|signature|sig|auth)=)([^&#\s]+)/gi;
const JSON_FIELD = /("([^"\\]{1,100})"\s{0,20}:\s{0,20}")((?:[^"\\]|\\.)+)/g;
/** `--name=value`, `NAME=value`, `name: value`, with or without quotes. */
const ASSIGNMENT = /((?<![\w.-])-{0,2}([A-Za-z][\w.-]{0,100})["']?(?: ?= ?| ?: {0,4}))("[^"]*"|'[^']*'|[^\s"'&;,]+)/g;
const FLAG = /((?<![\w.-])--?([A-Za-z][\w-]{0,100})[ \t]+)("[^"]*"|'[^']*'|[^\s"'-][^\s"']*)/g;
const SCHEME = /(\b(?:bearer|basic|token|bot)\s{1,4})([\w+/=.~:-]{8,})/gi;
/** Named as such, and written instead of the secret. */
const STANDS_FOR_ONE = /^(?:["']?\$|<|\*+$|\[secret\]|(?:true|false|null|undefined|none|bearer|basic|token|bot)$)/i;

const isMadeByMachine = (text: string): boolean => /\d/.test(text) || text.length >= 20;

/**
 * The text with `replace` of each secret that is one by its form: a value with a secret name in front of it (an assignment, a header, a
 * field of JSON, an option of a command), the password of an address, a private key, or a token in the form of a known service.
 */
export function replaceSecrets(text: string, replace: Replace): string {
  const named = (whole: string, start: string, name: string, value: string): string =>
    isSecretName(name) && !STANDS_FOR_ONE.test(value) ? start + inQuotes(value, replace) : whole;
  const bare = (whole: string, start: string, value: string): string =>
    STANDS_FOR_ONE.test(value) ? whole : start + replace(value);
  return text
    .replace(OWN_FORMS, replace)
    .replace(USER_OF_ADDRESS, bare)
    .replace(SECRET_PARAMETER, bare)
    .replace(SCHEME, (whole, start: string, value: string) =>
      isMadeByMachine(value) ? bare(whole, start, value) : whole,
    )
    .replace(JSON_FIELD, named)
    .replace(ASSIGNMENT, named)
    .replace(FLAG, named);
}

function inQuotes(value: string, replace: Replace): string {
  const [quote = ""] = /^["']/.exec(value) ?? [];
  return quote + replace(value.slice(quote.length, value.length - quote.length)) + quote;
}

/** Whether the argument of a command that follows this one is a secret: `--api-key`. */
export const namesSecret = (argument: unknown): boolean =>
  typeof argument === "string" && /^--?[A-Za-z][\w-]*$/.test(argument) && isSecretName(argument.replace(/^--?/, ""));

/** The secrets in the arguments of a command. */
export function secretsOfArguments(args: readonly unknown[]): readonly string[] {
  const found: string[] = [];
  const note = (secret: string): string => {
    found.push(secret);
    return "";
  };
  args.forEach((argument, at) => {
    if (typeof argument !== "string") return;
    if (namesSecret(args[at - 1])) found.push(argument);
    else replaceSecrets(argument, note);
  });
  return found;
}
