import { partsText, type Said } from "./said.ts";

/** UTF-16 units at the start of a message that say what is to be done. */
const HEAD = 500;

/**
 * Whether a request is one that a client makes for itself, about a conversation and not in it: titles, tags, follow-up
 * questions, search queries. Open WebUI begins each with a heading and quotes the conversation; LibreChat asks for a title
 * and names the speakers.
 */
export function isSideTask(said: readonly Said[]): boolean {
  const [only, ...others] = said.filter(({ role }) => role !== "system");
  if (only?.role !== "user" || others.length > 0) return false;
  const text = partsText(only.parts).trimStart();
  return isOpenWebUi(text) || isLibreChat(text);
}

const isOpenWebUi = (text: string): boolean =>
  /^#{1,3} Task:?\s/.test(text) && /<chat_history>|^#{1,3} (?:Output|Chat History):?\s*$/m.test(text);

const isLibreChat = (text: string): boolean =>
  /\btitle\b/i.test(text.slice(0, HEAD)) && /^(?:User|Human): /m.test(text) && /^(?:AI|Assistant): /m.test(text);
