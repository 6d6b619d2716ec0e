import { keep, kept } from "./kept.ts";

/** The colours of the page: those of the system, or always these. */
export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const THEME = "openclaw.theme";

/** The theme that was chosen in this browser. */
export const chosenTheme = (): Theme => THEMES.find((theme) => theme === kept(THEME)) ?? "system";

/** Shows the page in a theme, and keeps the choice in this browser. Answers whether the browser keeps it. */
export function chooseTheme(theme: Theme): boolean {
  const isKept = keep(THEME, theme === "system" ? undefined : theme);
  showTheme();
  return isKept;
}

/** Takes dark colours where light ones are shown, and light ones where dark ones are. Answers whether the browser keeps them. */
export function changeColours(): boolean {
  const theme = chosenTheme();
  const isDark = theme === "system" ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
  return chooseTheme(isDark ? "light" : "dark");
}

/** Shows the page in the theme that was chosen, with the bars of a phone in the same colour. */
export function showTheme(): void {
  const theme = chosenTheme();
  document.documentElement.dataset["theme"] = theme;
  for (const meta of document.querySelectorAll<HTMLMetaElement>("meta[name='theme-color']")) {
    const own = meta.dataset["theme"] ?? "";
    meta.media = theme === "system" ? `(prefers-color-scheme: ${own})` : mediaOf(own === theme);
  }
}

/** The other colour is that of paper, so that no screen has it. */
const mediaOf = (isOwn: boolean): string => (isOwn ? "screen" : "print");
