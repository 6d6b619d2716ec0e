import type { LoginStep } from "../types/chat/channel.ts";
import { OpenClawError } from "../types/errors.ts";
import type { ConfiguredAccount } from "./ports.ts";

type Place = Pick<ConfiguredAccount, "adapter" | "account" | "isNamed">;

/**
 * A text of an adapter, with the config keys of this account. The adapter does not know under which account its settings are
 * written, so it names `channels.<channel>.<key>`.
 */
export function ownKeys(text: string, { adapter, account, isNamed }: Place): string {
  if (isNamed !== true) return text;
  const ofChannel = new RegExp(`\\bchannels\\.${adapter.id}\\.(?!accounts\\.)`, "g");
  return text.replaceAll(ofChannel, () => `channels.${adapter.id}.accounts.${account}.`);
}

/** The same for a step of a login. */
export const ownStep = (step: LoginStep, place: Place): LoginStep =>
  step.kind === "text" ? { ...step, text: ownKeys(step.text, place) } : step;

/** The same for an error that the operator can fix. Other errors stay as they are. */
export function ownError(error: unknown, place: Place): unknown {
  if (!(error instanceof OpenClawError)) return error;
  const { code, message, fix, cause } = error;
  return new OpenClawError(code, { message: ownKeys(message, place), fix: ownKeys(fix, place), cause });
}
