/** A document whose text, or whose pictures, are wanted. */
export interface PdfJob {
  readonly bytes: Uint8Array;
  readonly want: "text" | "pictures";
  /** Numbers of pages, from 1; all when unset. */
  readonly pages?: readonly number[] | undefined;
  readonly mostPages: number;
  /** UTF-16 units of text. */
  readonly mostChars: number;
}

export interface PdfText {
  /** Pages of the document. */
  readonly count: number;
  readonly pages: readonly { readonly number: number; readonly text: string }[];
  /** There was more text on these pages. */
  readonly isCut: boolean;
  /** PNG files. */
  readonly pictures: readonly { readonly page: number; readonly png: Uint8Array }[];
}

/** Why a document cannot be read. It continues a sentence. */
export interface PdfRefusal {
  readonly refused: string;
}
