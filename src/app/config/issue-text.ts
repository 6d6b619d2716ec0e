import type { z } from "zod";
import { valueAt } from "./schema/problem.ts";

type Issue = z.core.$ZodIssue;

const KINDS: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "an object",
  record: "an object",
  array: "a list",
  null: "null",
};

/** A description of an invalid value, without the value itself, which may be secret. */
export function describeIssue(issue: Issue, input: unknown): string {
  switch (issue.code) {
    case "invalid_type":
      return expected(issue.expected, valueAt(input, issue.path.map(segment)));
    case "invalid_value":
      return `must be one of: ${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
    case "too_small":
      return `must be at least ${issue.minimum}${unitOf(issue.origin)}`;
    case "too_big":
      return `must be at most ${issue.maximum}${unitOf(issue.origin)}`;
    case "invalid_union":
      return describeUnion(issue, valueAt(input, issue.path.map(segment)));
    default:
      return issue.message.replace(/^Invalid input: /, "");
  }
}

const segment = (part: PropertyKey): string | number => (typeof part === "number" ? part : String(part));

function expected(kind: string, value: unknown): string {
  const wanted = KINDS[kind] ?? kind;
  return value === undefined ? `is missing; ${wanted} is needed` : `must be ${wanted}, but is ${kindOf(value)}`;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return KINDS[typeof value] ?? typeof value;
}

function unitOf(origin: string): string {
  if (origin === "string") return " characters long";
  return origin === "array" ? " items long" : "";
}

function describeUnion(issue: Extract<Issue, { code: "invalid_union" }>, value: unknown): string {
  if (value === undefined) return "is missing";
  const firsts = issue.errors.flatMap(([first]) => first ?? []);
  // The intended form is the one that matches except for something inside.
  const meant = firsts.filter(({ path }) => path.length > 0);
  const wants = (meant.length > 0 ? meant : firsts).map((first) => {
    const inside = first.path.map(segment).join(".");
    return `${inside === "" ? "" : `${inside}: `}${describeIssue(first, value)}`;
  });
  return [...new Set(wants)].join(", or ") || issue.message;
}
