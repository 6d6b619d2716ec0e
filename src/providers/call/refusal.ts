import { pageTitle, readRefusal, readStreamRefusal, type Refusal } from "../failure/body.ts";
import type { PiModel } from "../pi.ts";
import type { Wire } from "./wire.ts";

/** The provider's error in a refused answer, or in the last event of one that began well. */
export function refusalOn(wire: Wire): Refusal | undefined {
  const { status = 0 } = wire;
  const tail = Buffer.from(wire.tail() ?? "", "latin1").toString("utf8");
  return status >= 400 ? readRefusal(tail) : readStreamRefusal(tail);
}

/**
 * Why an answer that is a web page cannot be one of a model: a wrong address, or a network that wants a login first. Nothing
 * else in the page counts. Undefined when it is none; a refusal may be a page.
 */
export function webPageOn(wire: Wire): string | undefined {
  const { status = 0, pieces } = wire;
  if (status >= 400 || pieces > FIRST_PIECES) return undefined;
  const title = pageTitle(Buffer.from(wire.tail() ?? "", "latin1").toString("utf8"));
  if (title === undefined) return undefined;
  const named = title === "" ? "" : ` ("${title.slice(0, 80)}")`;
  return `The provider's address answered with a web page${named}, not with a model's answer. Check baseUrl, and whether this network asks for a login.`;
}

/** A page shows in its first line. */
const FIRST_PIECES = 4;

/** The SDKs' texts for a body whose shape they do not know, and for an empty one. */
const NO_BODY = /^(\d{3}) status code \(no body\)/;

/**
 * The failure in the provider's own words, with the status in front and the error's name behind; else as the SDK has it. The
 * SDKs read one shape of body each: others they quote as JSON, or say that there was none.
 */
export function reportedText(text: string, refusal: Refusal | undefined, { provider, baseUrl }: PiModel): string {
  if (refusal !== undefined && refusal.message !== "") return inOwnWords(text, refusal);
  // Cerebras says nothing at all when a request is too long; of others silence means nothing.
  const isCerebras = `${provider} ${baseUrl}`.includes("cerebras");
  return isCerebras ? text : text.replace(NO_BODY, "$1 without a reason");
}

function inOwnWords(text: string, { message, names, status: inBody }: Refusal): string {
  // Google's SDK quotes the body, and the status is in there.
  const status = /^(?:\w+ API error \()?([45]\d\d)\b/i.exec(text)?.[1] ?? (/^\s*[[{]/.test(text) ? inBody : undefined);
  const missing = names.filter((name) => name !== "error" && !message.includes(name));
  return [
    ...(status === undefined ? [] : [status]),
    message,
    ...(missing.length > 0 ? [`(${missing.join(", ")})`] : []),
  ].join(" ");
}
