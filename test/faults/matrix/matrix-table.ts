/** The moments at which the gateway is killed, in the order in which a message passes them. */
export const STEPS = [
  "update received",
  "committed",
  "acknowledged",
  "admitted",
  "run started",
  "tool run",
  "preview sent",
  "preview shown",
  "first block sent",
  "last block sent",
  "row marked",
] as const;
export type Step = (typeof STEPS)[number];

/** What the chat shows of the message at which the kill was aimed. `n.a.`: there is no such moment, see `WHY_NOT`. */
export type Cell = "once" | "labelled" | "n.a.";
export type Row = Readonly<Record<Step, Cell>>;

const USUAL: Row = {
  "update received": "once",
  committed: "once",
  acknowledged: "once",
  admitted: "once",
  "run started": "once",
  "tool run": "once",
  "preview sent": "labelled",
  "preview shown": "once",
  "first block sent": "once",
  "last block sent": "once",
  "row marked": "once",
};

export const MATRIX = {
  telegram: { ...USUAL, "last block sent": "labelled" },
  slack: USUAL,
  discord: { ...USUAL, acknowledged: "n.a." },
  signal: { ...USUAL, acknowledged: "n.a.", "last block sent": "labelled" },
  whatsapp: USUAL,
  webchat: { ...USUAL, "preview sent": "n.a.", "preview shown": "n.a.", "row marked": "n.a." },
} as const satisfies Readonly<Record<string, Row>>;
export type PlatformId = keyof typeof MATRIX;

export const WHY_NOT: readonly string[] = [
  "Discord and Signal: events are not acknowledged one by one; the next connection names the last event that is in the journal.",
  "Web chat: the transcript is the delivery, so there is no row to mark. A preview on the page is not a message and disappears with its connection.",
];

const cells = (words: readonly string[]): string => `| ${words.join(" | ")} |`;

/** As written in docs/concepts/reliability.md. */
export function renderMatrix(rows: Readonly<Record<string, Row>>): string {
  const ids = Object.keys(rows);
  const head = [cells(["killed at", ...ids]), cells(["---", ...ids.map(() => "---")])];
  const body = STEPS.map((step) => cells([step, ...ids.map((id) => rows[id]?.[step] ?? "")]));
  return [...head, ...body].join("\n");
}
