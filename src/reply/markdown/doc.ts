/** A piece of running text. */
export type Inline =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "code"; readonly text: string }
  /** A line break, soft or hard: people who write in chats mean both. */
  | { readonly type: "break" }
  | { readonly type: "mark"; readonly mark: Mark; readonly children: readonly Inline[] }
  | { readonly type: "link"; readonly href: string; readonly children: readonly Inline[] }
  | { readonly type: "image"; readonly src: string; readonly alt: string };

export type Mark = "bold" | "italic" | "strike" | "spoiler";

export type Block =
  | { readonly type: "paragraph"; readonly children: readonly Inline[] }
  | { readonly type: "heading"; readonly level: number; readonly children: readonly Inline[] }
  | { readonly type: "code"; readonly text: string; readonly language: string }
  | { readonly type: "quote"; readonly children: readonly Block[] }
  | List
  | Table
  | { readonly type: "rule" };

export interface List {
  readonly type: "list";
  /** The first number of an ordered list. */
  readonly start: number | undefined;
  /** No blank lines between the list's items. */
  readonly tight: boolean;
  readonly items: readonly (readonly Block[])[];
}

export interface Table {
  readonly type: "table";
  readonly head: readonly Cell[];
  readonly rows: readonly (readonly Cell[])[];
  readonly align: readonly ("left" | "right" | "center")[];
}

export type Cell = readonly Inline[];

/** A parsed Markdown text, free of the parser's own types. */
export interface MarkdownDoc {
  readonly blocks: readonly Block[];
}
