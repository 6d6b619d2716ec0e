import { z } from "zod";
import { Secret } from "../types/secret.ts";

/** Title and description of a config key; both appear in `docs/config.md` and in the JSON Schema. */
export const about = (title: string, description: string): { title: string; description: string } => ({
  title,
  description,
});

const isSecret = z.custom<Secret>((value) => value instanceof Secret, "expected text or a secret reference");

/**
 * A key, token or password. Users write text, `${VARIABLE}` or `{source, id}`; the loader has resolved the latter two
 * before a schema sees them. The value is always a `Secret`. Give `.meta()` after any `.optional()`.
 */
export const secretField = z
  .union([z.string().min(1), isSecret])
  .transform((value) => (value instanceof Secret ? value : new Secret(value)));

/** Ids of users and chats: people write numbers as well. */
export const idList = z.array(z.union([z.string(), z.number()]).transform(String));

/** A number of milliseconds that a timer can hold. */
export const milliseconds = z.int().min(0).max(2_147_483_647);
