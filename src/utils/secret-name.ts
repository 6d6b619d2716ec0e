const WORDS =
  /(?:^|_)(?:token|secret|password|passwd|pwd|passphrase|credentials?|authorization|cookie|bearer|jwt|pat|dsn|(?:api|access|secret|private|signing|encryption)_?keys?(?:_?id)?)$/;

/** Whether a config key or a header is named like something secret: `botToken`, `x-api-key`, `accessKey`, `GITHUB_PAT`. */
export const isSecretName = (name: string): boolean =>
  WORDS.test(
    name
      .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
      .replace(/[-. ]/g, "_")
      .toLowerCase(),
  );
