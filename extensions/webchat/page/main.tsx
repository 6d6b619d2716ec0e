import { showTheme } from "./browser/theme.ts";
import { chosenLanguage, language, languageOf, useTexts } from "./words/words.ts";
import "./style.css";

showTheme();
await useTexts(chosenLanguage() ?? languageOf(navigator.languages)).catch(() => undefined);
document.documentElement.lang = language();
// Its modules have texts.
await import("./start.tsx");
