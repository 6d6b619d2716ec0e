import { z } from "zod";
import { sessionKey } from "./ids.ts";

/**
 * How a field of the protocol names a conversation. `key`: by its key. `alias`: by its key or a client's word for it.
 * `place`: as the target of a scheduled job does, by `session:<alias>` or by a word that is no key.
 */
export type KeyForm = "key" | "alias" | "place";

/** The fields of methods' parameters and answers that name conversations; the server translates them. */
export const keyFields = z.registry<{ readonly form: KeyForm }>();

const marked = <T extends z.ZodType>(field: T, form: KeyForm = "key"): T => {
  keyFields.add(field, { form });
  return field;
};

/** A session key in an answer. */
export const keyField = (): z.ZodString => marked(z.string());

/** A session key that a client gives; the method gets it as it is inside the gateway. */
export const keyParam = () => marked(z.string().min(1).max(512)).transform(sessionKey);

/** A conversation in an answer, as somebody named it. */
export const namedKeyField = (form: "alias" | "place"): z.ZodString => marked(z.string(), form);
