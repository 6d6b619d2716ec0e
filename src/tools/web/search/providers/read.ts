import type { FoundPage, SearchWish } from "../../../../types/plugin/web-search.ts";
import { isFields, type Fields } from "../../../../utils/fields.ts";
import { SearchFailure, type SearchAccess } from "./provider.ts";

/** Reads a text of a provider's answer, whose types are not certain; empty when there is none. */

export const textAt = (value: unknown, ...path: readonly string[]): string => {
  const found = valueUnder(value, ...path);
  return typeof found === "string" ? found : "";
};

export const valueUnder = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((at, key) => (isFields(at) && Object.hasOwn(at, key) ? at[key] : undefined), value);

/** The objects of a list; empty where there is no list. */
export const listAt = (value: unknown, ...path: readonly string[]): readonly Fields[] => {
  const found = valueUnder(value, ...path);
  return Array.isArray(found) ? found.filter(isFields) : [];
};

export const textsAt = (value: unknown, ...path: readonly string[]): readonly string[] => {
  const found = valueUnder(value, ...path);
  return Array.isArray(found) ? found.filter((one): one is string => typeof one === "string") : [];
};

/** The list of an answer. Throws `SearchFailure` for an answer without the list, which is of another kind. */
export function listIn(value: unknown, ...path: readonly string[]): readonly Fields[] {
  if (Array.isArray(valueUnder(value, ...path))) return listAt(value, ...path);
  throw new SearchFailure("answer", `sent an answer without the list \`${path.join(".")}\``);
}

interface Names {
  readonly url?: string;
  readonly snippet: string;
  readonly published?: string;
}

/** A list of pages whose fields have these names. */
export const pagesOf = (list: readonly Fields[], { url = "url", snippet, published }: Names): readonly FoundPage[] =>
  list.map((page) => ({
    title: textAt(page, "title"),
    url: textAt(page, url),
    snippet: textAt(page, snippet),
    ...(published !== undefined && { published: textAt(page, published) }),
  }));

/** The answer of a model with its sources. Throws `SearchFailure` for an empty text. */
export function citedAnswer(content: string, citations: readonly string[]) {
  if (content.trim() === "") throw new SearchFailure("answer", "sent an answer without text");
  return { content, citations: [...new Set(citations)] };
}

export const bearer = ({ key }: SearchAccess): Record<string, string> =>
  key ? { authorization: `Bearer ${key.reveal()}` } : {};

/** The hosts to which a search is limited, and the hosts that it leaves out. */
export function domainsOf({ domain_filter: hosts = [] }: SearchWish) {
  const only = hosts.filter((host) => !host.startsWith("-"));
  const without = hosts.filter((host) => host.startsWith("-")).map((host) => host.slice(1));
  return { only, without };
}

/** The fields with a value; an empty list counts as none. */
export const givenFields = (fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0)),
  );
