import { showTheme } from "./browser/theme.ts";
import { tellLack } from "./browser/parts.ts";
import { chosenLanguage, language, languageOf, t, useTexts } from "./words/words.ts";
import "./style.css";

showTheme();
await useTexts(chosenLanguage() ?? languageOf(navigator.languages)).catch(() => tellLack("texts"));
document.documentElement.lang = language();
// Its modules have texts.
await import("./start.tsx").catch((error: unknown) => {
  console.warn("the page could not be loaded", error);
  showNotStarted();
});

/** Without its code the page has no form of its own. */
function showNotStarted(): void {
  const words = document.createElement("p");
  words.role = "alert";
  words.textContent = t("The page could not be loaded: its gateway is away, or is being updated.");
  const again = document.createElement("button");
  again.className = "quiet";
  again.textContent = t("Reload the page");
  again.addEventListener("click", () => location.reload());
  again.type = "button";
  const card = document.createElement("form");
  card.append(words, again);
  const gate = document.createElement("main");
  gate.className = "gate";
  gate.append(card);
  document.getElementById("app")?.replaceChildren(gate);
}
