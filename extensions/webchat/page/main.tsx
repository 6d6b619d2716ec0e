import { chosenLanguage, language, languageOf, useTexts } from "./words/words.ts";
import "./style.css";

await useTexts(chosenLanguage() ?? languageOf(navigator.languages)).catch(() => undefined);
document.documentElement.lang = language();
// Its modules have texts.
await import("./start.tsx");
