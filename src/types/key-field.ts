import { z } from "zod";
import { sessionKey } from "./ids.ts";

/**
 * How a field of the protocol names a conversation. `key`: by its key. `alias`: by its key or a client's word for it.
 * `place`: as the target of a scheduled job does, by `session:<alias>` or by a word that is no key.
 */
export type KeyForm = "key" | "alias" | "place";

const FORMS: ReadonlySet<unknown> = new Set<KeyForm>(["key", "alias", "place"]);
const isForm = (value: unknown): value is KeyForm => FORMS.has(value);

/** How a field of a method's parameters or answer names a conversation; undefined when it names none. */
export function keyFormOf(field: z.core.$ZodType): KeyForm | undefined {
  const form = z.globalRegistry.get(field)?.["namesSession"];
  return isForm(form) ? form : undefined;
}

// The registry is zod's own, because the build has several copies of this file.
function marked<T extends z.ZodType>(field: T, form: KeyForm = "key"): T {
  z.globalRegistry.add(field, { namesSession: form });
  return field;
}

/** A session key in an answer. */
export const keyField = (): z.ZodString => marked(z.string());

/** A session key that a client gives; the method gets it as it is inside the gateway. */
export const keyParam = () =>
  marked(z.string().min(1, "names a conversation, and must not be blank").max(512)).transform(sessionKey);

/** A conversation in an answer, as somebody named it. */
export const namedKeyField = (form: "alias" | "place"): z.ZodString => marked(z.string(), form);
