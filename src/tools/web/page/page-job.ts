/** Kind of an answer's body; `unnamed` where the server names none. */
export type PageKind = "html" | "markdown" | "json" | "text" | "unnamed";

/** Job for the thread of pages: an answer whose text is needed. */
export interface PageJob {
  readonly kind: PageKind;
  readonly bytes: Uint8Array;
  /** Encoding as the server names it. */
  readonly charset?: string;
  readonly url: string;
  readonly mode: "markdown" | "text";
  /** True to look for an article; otherwise the whole page counts. */
  readonly readability: boolean;
  /** Most UTF-16 units of text. */
  readonly most: number;
}

/** The text of an answer. */
export interface PageText {
  readonly text: string;
  readonly title: string;
  readonly extractor: "readability" | "plain" | "server-markdown" | "json" | "text";
  /** True when there was more text. */
  readonly isCut: boolean;
  /** UTF-16 units of the whole answer. */
  readonly rawLength: number;
  /** Address to which the page itself sends its readers on; unset when there is none. */
  readonly leadsTo?: string;
  /** Reason why the text may be less than the page shows; undefined when there is none. */
  readonly doubt?: "scripts" | "hidden";
}

/** Result for bytes that are no text. */
export interface NoText {
  readonly noText: true;
}
