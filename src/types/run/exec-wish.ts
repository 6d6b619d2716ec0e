/**
 * How far commands of a turn may leave the sandbox. `off`: not at all. `on`: they run on the machine, with the approvals of the config.
 * `ask`: the same, and each is asked about. `full`: without approvals, for owners.
 */
export const ELEVATED_LEVELS = ["off", "on", "ask", "full"] as const;
export type ElevatedLevel = (typeof ELEVATED_LEVELS)[number];

/** Values from the most to the least strict. */
export const EXEC_HOSTS = ["sandbox", "auto", "gateway"] as const;
export const EXEC_SECURITY = ["deny", "allowlist", "full"] as const;
export const EXEC_ASK = ["always", "on-miss", "off"] as const;

/** Settings of a conversation for its commands. They make the config stricter and never looser. */
export interface SessionExec {
  readonly host?: (typeof EXEC_HOSTS)[number];
  readonly security?: (typeof EXEC_SECURITY)[number];
  readonly ask?: (typeof EXEC_ASK)[number];
}

const wordIn = <Word extends string>(words: readonly Word[], word: unknown): Word | undefined =>
  words.find((known) => known === word);

export const elevatedLevelOf = (word: unknown): ElevatedLevel | undefined => wordIn(ELEVATED_LEVELS, word);

/** Settings that the words mean; a word that means nothing here, such as one of another program, is left out. */
export function sessionExecOf(words: {
  readonly host?: unknown;
  readonly security?: unknown;
  readonly ask?: unknown;
}): SessionExec {
  const host = wordIn(EXEC_HOSTS, words.host);
  const security = wordIn(EXEC_SECURITY, words.security);
  const ask = wordIn(EXEC_ASK, words.ask);
  return { ...(host && { host }), ...(security && { security }), ...(ask && { ask }) };
}

/** The stricter of two wishes, word by word. Pure. */
export function stricterExec(one: SessionExec, other: SessionExec = {}): SessionExec {
  return sessionExecOf({
    host: one.host ? stricterOf(EXEC_HOSTS, one.host, other.host) : other.host,
    security: one.security ? stricterOf(EXEC_SECURITY, one.security, other.security) : other.security,
    ask: one.ask ? stricterOf(EXEC_ASK, one.ask, other.ask) : other.ask,
  });
}

/** The value that is further to the front of the list; one that is unset does not count. */
export const stricterOf = <Word>(order: readonly Word[], one: Word, other: Word | undefined): Word =>
  other !== undefined && order.indexOf(other) < order.indexOf(one) ? other : one;
