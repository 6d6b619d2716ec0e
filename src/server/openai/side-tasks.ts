import { partsText, type Said } from "./said.ts";

/** UTF-16 units at the start of a message that say what is to be done. */
const HEAD = 500;

/**
 * Whether a request is one that a client makes for itself, about a conversation and not in it: titles, tags, follow-up
 * questions, search queries, an emoji, tools to call, one answer out of several. Open WebUI begins most with a heading
 * and quotes the conversation; LibreChat asks for a title and names the speakers.
 */
export function isSideTask(said: readonly Said[]): boolean {
  const [only, ...others] = said.filter(({ role }) => role !== "system");
  if (only?.role !== "user" || others.length > 0) return false;
  const text = partsText(only.parts).trimStart();
  const system = said.map((one) => (one.role === "system" ? partsText(one.parts) : "")).join("");
  return isOpenWebUi(text) || isLibreChat(text) || isToolChoice(text, system);
}

const isOpenWebUi = (text: string): boolean =>
  (isHeaded(text) && !isWithSources(text)) || isEmoji(text) || isMerger(text);

const isHeaded = (text: string): boolean =>
  /^#{1,3} Task:?\s/.test(text) && /<chat_history>|^#{1,3} (?:Output|Chat History):?\s*$/m.test(text);

/** A person's question with the documents that Open WebUI has found for it, under the same headings. */
const isWithSources = (text: string): boolean =>
  /<\/?(?:context|source|user_query)\b/.test(text) && !/<chat_history>/.test(text);

const isEmoji = (text: string): boolean =>
  /\bemoji\b/i.test(text.slice(0, HEAD)) && /^Your task\b/.test(text) && /^Message: ```/m.test(text);

const isMerger = (text: string): boolean =>
  /\bresponses from various models\b/.test(text.slice(0, HEAD)) && /^Responses from models:/m.test(text);

/** Open WebUI asks a model that calls no tools itself which tools to call. */
const isToolChoice = (text: string, system: string): boolean =>
  system.trimStart().startsWith("Available Tools: ") && text.startsWith("Query: ");

const isLibreChat = (text: string): boolean =>
  /\btitle\b/i.test(text.slice(0, HEAD)) && /^(?:User|Human): /m.test(text) && /^(?:AI|Assistant): /m.test(text);
