const WORDS =
  /(?:^|_)(?:token|secret|password|passwd|pwd|passphrase|credentials?|authorization|cookie|bearer|jwt|pat|dsn|(?:api|access|secret|private|signing|encryption)_?keys?(?:_?id)?)$/;

/**
 * Whether a value looks made by a machine, as keys and tokens do: 16 characters or more without spaces, letters and digits,
 * and neither a path nor an address; or a private key.
 */
export const isSecretLike = (value: string): boolean =>
  value.includes("PRIVATE KEY") ||
  (/^(?=.*[A-Za-z])(?=.*\d)[\w+=.~-][\w+/=.~-]{15,}$/.test(value) && !/^\.|\/.*\/.*\//.test(value));

/** Whether a config key or a header is named like something secret: `botToken`, `x-api-key`, `accessKey`, `GITHUB_PAT`. */
export const isSecretName = (name: string): boolean =>
  WORDS.test(
    name
      .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
      .replace(/[-. ]/g, "_")
      .toLowerCase(),
  );
