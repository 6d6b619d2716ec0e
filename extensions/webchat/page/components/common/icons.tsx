import type { VNode } from "preact";

const PATHS = {
  agent: "M6 9h12v9H6zM12 9V5.5M9.5 13v.5M14.5 13v.5M3.5 12v3M20.5 12v3",
  archive: "M4 5h16v4H4zM5.5 9v10h13V9M10 13h4",
  attach: "M21 11.5 12.5 20a5.5 5.5 0 0 1-7.8-7.8l8.9-8.9a3.7 3.7 0 0 1 5.2 5.2L10 17.3a1.8 1.8 0 0 1-2.6-2.6l7.9-7.8",
  bars: "M5 20V11M12 20V4M19 20v-6",
  bell: "M6 17V11a6 6 0 0 1 12 0v6l1.5 2h-15zM10 21.5h4",
  book: "M5 5a2 2 0 0 1 2-2h12v18H7a2 2 0 0 1-2-2zm0 12h14M9 7h6",
  branch: "M7 5v14M7 13c6 0 10-1 10-7M7 5m-2 0a2 2 0 1 0 4 0 2 2 0 1 0-4 0M17 6m-2 0a2 2 0 1 0 4 0 2 2 0 1 0-4 0",
  check: "M5 12.5l4.5 4.5L19 7.5",
  chevron: "M6 9l6 6 6-6",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7.5V12l3 2",
  close: "M6 6l12 12M18 6 6 18",
  compass: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM15.5 8.5l-2 5-5 2 2-5z",
  contrast: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 3v18M12 8h6M12 12h9M12 16h6",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  down: "M12 5v14m-6-6 6 6 6-6",
  file: "M7 3h7l4 4v14H7zM14 3v4h4",
  film: "M4 6h16v12H4zM10.5 9.5v5l4-2.5z",
  info: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5m0-8.5v.01",
  lines: "M5 6h14M5 10h9M5 14h14M5 18h7",
  mic: "M12 15a3.5 3.5 0 0 0 3.5-3.5v-5a3.5 3.5 0 0 0-7 0v5A3.5 3.5 0 0 0 12 15zM5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v3",
  menu: "M4 7h16M4 12h16M4 17h10",
  note: "M6 3h9l4 4v14H6zM14.5 3v5H19M9.5 12h6M9.5 16h6",
  pencil: "M4 20h4L19 9a2.8 2.8 0 0 0-4-4L4 16zM13.5 6.5l4 4",
  pulse: "M3 12h4l3-7 4 14 3-7h4",
  plug: "M9 3v5m6-5v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4",
  plus: "M12 5v14M5 12h14",
  people:
    "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3 20c0-3.6 2.6-6 6-6s6 2.4 6 6M16 4.4a3.5 3.5 0 0 1 0 6.2M18 14.6c1.9.9 3 2.8 3 5.4",
  pin: "M9 4h6l-1 7 3 3H7l3-3zM12 14v6",
  play: "M8 5.5v13l10.5-6.5z",
  redo: "M20 12a8 8 0 1 1-2.5-5.8M20 3.5V8h-4.5",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l4.5 4.5",
  puzzle: "M4 8h4a2 2 0 1 1 4 0h4v4a2 2 0 1 1 0 4v4H4z",
  save: "M12 4v11m-5-5 5 5 5-5M5 20h14",
  send: "M12 19V5m-6 6 6-6 6 6",
  key: "M15 15a5 5 0 1 0-4.6-3L4 18.4V20h3v-2h2v-2h2l1.4-1.4A5 5 0 0 0 15 15zM16 9v.01",
  shield: "M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6zM9 12l2 2 4-4",
  sliders: "M4 8h9m5 0h2M4 16h3m5 0h8M15.5 5.5v5m-6 3v5",
  sound: "M9 18V6l10-2v12M9 18a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0zM19 16a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0z",
  tool: "M8 8l-4 4 4 4m8-8 4 4-4 4M13.5 6l-3 12",
  trash: "M5 7h14M10 7V5h4v2m-7 0 1 12h8l1-12",
  up: "M12 19V5m-6 6 6-6 6 6",
  warning: "M12 4 3 19h18zM12 10v4m0 3v.01",
} as const;

export type IconName = keyof typeof PATHS;

/** An icon next to a text or in a labelled button; hidden from screen readers. */
export function Icon(props: { name: IconName }): VNode {
  return (
    <svg class={`icon icon-${props.name}`} viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[props.name]} />
    </svg>
  );
}

/** The filled square of the stop button. */
export function StopIcon(): VNode {
  return (
    <svg class="icon filled" viewBox="0 0 24 24" aria-hidden="true">
      <rect x="7" y="7" width="10" height="10" rx="2" />
    </svg>
  );
}

/** The logo. */
export function Logo(): VNode {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="9" />
      <path d="M10 8c-2 6-1 11 3 16M16 7c-1 6 0 11 3 15M22 8c0 5 0 8 2 11" />
    </svg>
  );
}
