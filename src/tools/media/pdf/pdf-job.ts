/** Job for the thread of documents: a document, and whether its text or its pictures are needed. */
export interface PdfJob {
  readonly bytes: Uint8Array;
  readonly want: "text" | "pictures";
  /** Numbers of pages, from 1; all when unset. */
  readonly pages?: readonly number[] | undefined;
  readonly mostPages: number;
  /** Most UTF-16 units of text. */
  readonly mostChars: number;
}

export interface PdfText {
  /** Number of pages of the document. */
  readonly count: number;
  readonly pages: readonly { readonly number: number; readonly text: string }[];
  /** True when these pages have more text. */
  readonly isCut: boolean;
  /** PNG files. */
  readonly pictures: readonly { readonly page: number; readonly png: Uint8Array }[];
}

/** Reason why a document cannot be read, to continue a sentence. */
export interface PdfRefusal {
  readonly refused: string;
}
