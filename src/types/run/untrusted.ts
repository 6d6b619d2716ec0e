import { z } from "zod";
import { isFields } from "../../utils/fields.ts";
import type { Answer } from "../method.ts";

/** Effects of a call that a text of somebody else could have asked for. */
export const RISKY_USES = ["commands", "prompt-files", "messages", "network"] as const;
export type RiskyUse = (typeof RISKY_USES)[number];

/** A call as a person is asked about it. */
export interface Risk {
  readonly use: Exclude<RiskyUse, "commands">;
  /** Continues a sentence: "the call …". */
  readonly what: string;
}

/** The tool that returned untrusted content, and the service that the content came from. */
export const untrustedSource = z.looseObject({ tool: z.string(), source: z.string() });
export type UntrustedSource = Answer<z.output<typeof untrustedSource>>;

/** Untrusted content that a conversation has read, as its row keeps it: it outlives a summary of the conversation. */
export interface UntrustedMark {
  readonly sources: readonly UntrustedSource[];
  /** Files were read too, so there is something to carry out. */
  readonly hasReadFiles: boolean;
}

/** Where a conversation keeps that it has read untrusted content. */
export interface UntrustedKeeping {
  known(): UntrustedMark | undefined;
  /** Keeps the mark. Rejects when it cannot be kept. */
  keep(mark: UntrustedMark): Promise<unknown>;
}

/** A mark that cannot be read counts as one of an unknown source. Undefined for none. Pure. */
export function untrustedMarkOf(value: unknown): UntrustedMark | undefined {
  if (value === undefined || value === null) return undefined;
  const { sources, hasReadFiles } = isFields(value) ? value : {};
  const read = (Array.isArray(sources) ? sources : []).filter(isSource);
  return {
    sources: read.length > 0 ? read.map(({ tool, source }) => ({ tool, source })) : [UNKNOWN_SOURCE],
    hasReadFiles: hasReadFiles !== false,
  };
}

const UNKNOWN_SOURCE: UntrustedSource = { tool: "unknown", source: "unknown" };

const isSource = (value: unknown): value is UntrustedSource =>
  isFields(value) && typeof value["tool"] === "string" && typeof value["source"] === "string";

/**
 * The mark of a conversation that got its task from another conversation: the task may contain what the other one read,
 * from files too. Pure.
 */
export function inheritedMark(above: UntrustedMark, own: UntrustedMark | undefined): UntrustedMark {
  const all = [...above.sources, ...(own?.sources ?? [])];
  const sources = [...new Map(all.map((one) => [`${one.tool} ${one.source}`, one])).values()];
  return { sources, hasReadFiles: true };
}

/** The sources in one line. */
export const sourcesText = (sources: readonly UntrustedSource[]): string =>
  sources.map(({ tool, source }) => (tool === source ? tool : `${tool} of ${source}`)).join(", ");

/** A sentence about the sources that continues a reason; empty when there are none. */
export const alsoSources = (sources: readonly UntrustedSource[]): string =>
  sources.length === 0 ? "" : ` The conversation has read untrusted content (${sourcesText(sources)}).`;
