import { pageTitle, readRefusal, readStreamRefusal, type Refusal } from "../failure/body.ts";
import type { PiModel } from "../pi.ts";
import type { Wire } from "./wire.ts";

/** The provider's error, from a refused answer or from the last event of one that began well. */
export function refusalOn(wire: Wire): Refusal | undefined {
  const { status = 0 } = wire;
  const tail = Buffer.from(wire.tail() ?? "", "latin1").toString("utf8");
  return status >= 400 ? readRefusal(tail) : readStreamRefusal(tail);
}

/**
 * The error text for an answer that is a web page: a wrong address, or a network that asks for a login first. The rest of the
 * page is ignored. Undefined when it is no web page; a refusal may be one too.
 */
export function webPageOn(wire: Wire): string | undefined {
  const { status = 0, pieces } = wire;
  if (status >= 400 || pieces > FIRST_PIECES || !MARKUP.test(wire.start())) return undefined;
  const title = pageTitle(Buffer.from(wire.tail() ?? "", "latin1").toString("utf8"));
  if (title === undefined) return undefined;
  const named = title === "" ? "" : ` ("${title.slice(0, 80)}")`;
  return `The provider's address answered with a web page${named}, not with a model's answer. Check baseUrl, and whether this network asks for a login.`;
}

/** How a page begins, after a mark of UTF-8 and white space. */
const MARKUP = /^(?:\u00EF\u00BB\u00BF)?\s*(?:<|$)/;
/** A web page is recognised in the first pieces. */
const FIRST_PIECES = 4;

/** The SDKs' texts for an empty body and for one whose shape they do not know. */
const NO_BODY = /^(\d{3}) status code \(no body\)/;

/**
 * The failure in the provider's own words, with the status before it and the error's name after it, or else the SDK's text.
 * Each SDK can read one shape of body. It quotes others as JSON, or says that there was no body.
 */
export function reportedText(text: string, refusal: Refusal | undefined, { provider, baseUrl }: PiModel): string {
  if (refusal !== undefined && refusal.message !== "") return inOwnWords(text, refusal);
  // Cerebras sends an empty body when a request is too long. An empty body of another provider means nothing.
  const isCerebras = `${provider} ${baseUrl}`.includes("cerebras");
  return isCerebras ? text : text.replace(NO_BODY, "$1 without a reason");
}

function inOwnWords(text: string, { message, names, status: inBody }: Refusal): string {
  // Google's SDK quotes the body, which contains the status.
  const status = /^(?:\w+ API error \()?([45]\d\d)\b/i.exec(text)?.[1] ?? (/^\s*[[{]/.test(text) ? inBody : undefined);
  const missing = names.filter((name) => name !== "error" && !message.includes(name));
  return [
    ...(status === undefined ? [] : [status]),
    message,
    ...(missing.length > 0 ? [`(${missing.join(", ")})`] : []),
  ].join(" ");
}
