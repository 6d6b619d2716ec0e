/** What the body of an answer is; `unnamed` where the server does not say it. */
export type PageKind = "html" | "markdown" | "json" | "text" | "unnamed";

/** An answer from which text is to be taken. */
export interface PageJob {
  readonly kind: PageKind;
  readonly bytes: Uint8Array;
  /** As the server names it. */
  readonly charset?: string;
  readonly url: string;
  readonly mode: "markdown" | "text";
  /** Looks for an article; otherwise all of the page counts. */
  readonly readability: boolean;
  /** UTF-16 units of text. */
  readonly most: number;
}

/** The text of an answer. */
export interface PageText {
  readonly text: string;
  readonly title: string;
  readonly extractor: "readability" | "plain" | "server-markdown" | "json" | "text";
  /** There was more text. */
  readonly isCut: boolean;
  /** UTF-16 units of the answer. */
  readonly rawLength: number;
  /** The address to which the page sends its readers on by itself; unset when it does not. */
  readonly leadsTo?: string;
  /** Why the text may be less than the page shows; undefined when nothing speaks for that. */
  readonly doubt?: "scripts" | "hidden";
}

/** The bytes are no text. */
export interface NoText {
  readonly noText: true;
}
