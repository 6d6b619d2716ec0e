import { z } from "zod";
import { Secret } from "./secrets/secret.ts";

type About = { title: string; description: string; example?: unknown };

/**
 * Title and description of a config key, for `docs/reference/config.md` and the JSON Schema; the example is for
 * `openclaw.json.example`.
 */
export const about = (title: string, description: string, example?: unknown): About => ({
  title,
  description,
  ...(example !== undefined && { example }),
});

/**
 * Marks a key of a channel's account that names its login: enabled accounts of a channel with equal logins are one
 * account of the platform, which would bring each message to all of these accounts. Of several keys the first that is
 * set counts. `server` marks the key with the server of the login.
 */
export const ofLogin = (key: About, part: "login" | "server" = "login"): About & { login: string } => ({
  ...key,
  login: part,
});

/**
 * Marks a key that the gateway reads once, at its start: a change of it, or of a key below it, waits for the next
 * start. All other keys apply as soon as they change, keys of `channels` with a new connection.
 */
export const atStart = (key: About): About & { applies: "at start" } => ({ ...key, applies: "at start" });

const isSecret = z.custom<Secret>((value) => value instanceof Secret, "a secret reference");

/** Text or object that users write for a secret, before it is a `Secret`. */
export const secretText = z.union([z.string().min(1), isSecret]);

/**
 * A key, token or password. Users write text, `${VARIABLE}` or `{source, id}`; the loader has resolved the latter two
 * before a schema sees them. The value is always a `Secret`. Give `.meta()` after any `.optional()`.
 */
export const secretField = secretText.transform((value) => (value instanceof Secret ? value : new Secret(value)));

/** Ids of users and chats: people write numbers as well. */
export const idList = z.array(z.union([z.string(), z.number()]).transform(String));

/** A number of milliseconds that a timer can hold. */
export const milliseconds = z.int().min(0).max(2_147_483_647);

const perSecond = z.number().min(0.01).max(1000).optional();

/** How quickly chats are written to. */
export const pacingConfig = z.strictObject({
  perChatPerSecond: perSecond.meta(
    about("Per chat", "Most messages per second to one chat; as many as the platform accepts when unset."),
  ),
  perAccountPerSecond: perSecond.meta(
    about(
      "Per account",
      "Most messages per second of one account to all its chats; as many as the platform accepts when unset.",
    ),
  ),
});
