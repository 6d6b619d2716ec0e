import type { LoginStep } from "../types/chat/channel.ts";
import { OpenClawError } from "../types/errors.ts";
import type { ConfiguredAccount } from "./ports.ts";

type Place = Pick<ConfiguredAccount, "adapter" | "account" | "isNamed">;

/**
 * What an adapter says, with the account's own keys: it knows its settings, and not where among several accounts they stand,
 * so that it names `channels.<channel>.<key>`.
 */
export function ownKeys(text: string, { adapter, account, isNamed }: Place): string {
  if (isNamed !== true) return text;
  const ofChannel = new RegExp(`\\bchannels\\.${adapter.id}\\.(?!accounts\\.)`, "g");
  return text.replaceAll(ofChannel, () => `channels.${adapter.id}.accounts.${account}.`);
}

/** The same of a step that is shown. */
export const ownStep = (step: LoginStep, place: Place): LoginStep =>
  step.kind === "told" ? { ...step, text: ownKeys(step.text, place) } : step;

/** The same of an error that the operator can mend; others as they are. */
export function ownError(error: unknown, place: Place): unknown {
  if (!(error instanceof OpenClawError)) return error;
  const { code, message, fix, cause } = error;
  return new OpenClawError(code, { message: ownKeys(message, place), fix: ownKeys(fix, place), cause });
}
