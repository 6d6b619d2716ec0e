/** Characters: a shorter value is a word of a local server's choice, such as `x`; taking it out would only garble a text. */
export const LEAST_SECRET = 8;

/** A header's value that is no secret, though the config types headers as secrets. */
const MEDIA_TYPE = /^(?:application|audio|image|multipart|text|video)\/[\w.+-]+$/;

/** Every text in which a secret may appear: as it is, its parts, and both as URLs, JSON, Base64 and hexadecimal write them. */
export function formsOf(value: string): readonly string[] {
  const forms = partsOf(value).flatMap(writtenForms);
  return [...new Set(forms)].filter((form) => form.length >= LEAST_SECRET);
}

/** The value and the secrets inside it: the password of an address, the token of an `Authorization` header. */
function partsOf(value: string): readonly string[] {
  if (MEDIA_TYPE.test(value.trim())) return [];
  const [, scheme = "", credentials] = /^([A-Za-z]+)\s+(\S+)$/.exec(value.trim()) ?? [];
  const own = credentials === undefined ? [] : [credentials, ...passwordOf(scheme, credentials)];
  return [value, value.trim(), value.trim().replace(/\s+/g, " "), ...own, ...secretsOfAddress(value)];
}

function passwordOf(scheme: string, credentials: string): readonly string[] {
  if (scheme.toLowerCase() !== "basic") return [];
  const pair = Buffer.from(credentials, "base64").toString("utf8");
  return [pair, pair.slice(pair.indexOf(":") + 1)];
}

const SECRET_PARAMETER = /(?:key|token|secret|password|passwd|pwd|signature|sig|auth)$/i;

/** The secrets in an address: its password, or a user name without one, and parameters that are named like secrets. */
export function secretsOfAddress(text: string): readonly string[] {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text) || !URL.canParse(text)) return [];
  const { username, password, searchParams } = new URL(text);
  const user = password === "" ? username : password;
  const parameters = [...searchParams].filter(([name]) => SECRET_PARAMETER.test(name)).map(([, value]) => value);
  return [user, unescaped(user), ...parameters].filter((part) => part !== "");
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign that escapes nothing is literal.
    return text;
  }
}

function writtenForms(value: string): readonly string[] {
  const inUrl = encodeURIComponent(value.toWellFormed());
  const bytes = Buffer.from(value, "utf8");
  return [
    value,
    JSON.stringify(value).slice(1, -1),
    inUrl,
    inUrl.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()),
    inUrl.replaceAll("%20", "+"),
    ...[0, 1, 2].flatMap((offset) => base64Core(bytes, offset)),
    bytes.toString("hex"),
  ];
}

/**
 * Base64 of the bytes behind `offset` others of any value: characters that also depend on the bytes before or after are
 * left out. With the offsets 0 to 2 every place in an encoded text is covered.
 */
function base64Core(bytes: Buffer, offset: number): readonly string[] {
  const all = Buffer.concat([Buffer.alloc(offset), bytes]);
  const text = all.toString("base64").replace(/=+$/, "");
  const core = text.slice(Math.ceil((offset * 8) / 6), all.length % 3 === 0 ? undefined : -1);
  return [core, core.replaceAll("+", "-").replaceAll("/", "_")];
}
