/** What a call does that a text of somebody else could have asked for. */
export const RISKY_USES = ["commands", "prompt-files", "messages", "network"] as const;
export type RiskyUse = (typeof RISKY_USES)[number];

/** A call as a person is asked about it. */
export interface Risk {
  readonly use: Exclude<RiskyUse, "commands">;
  /** Continues a sentence: "the call …". */
  readonly what: string;
}

/** The tool that returned untrusted content, and the service that the content came from. */
export interface UntrustedSource {
  readonly tool: string;
  readonly source: string;
}

/** The sources in one line. */
export const sourcesText = (sources: readonly UntrustedSource[]): string =>
  sources.map(({ tool, source }) => (tool === source ? tool : `${tool} of ${source}`)).join(", ");

/** A sentence about the sources that continues a reason; empty when there are none. */
export const alsoSources = (sources: readonly UntrustedSource[]): string =>
  sources.length === 0 ? "" : ` The conversation has read untrusted content (${sourcesText(sources)}).`;
