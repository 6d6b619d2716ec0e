import type { Check, CheckResult } from "../../types/check.ts";
import type { SpeechConfig } from "./config.ts";
import { keyVariableOf, whyUnusable } from "./services.ts";

interface Scene {
  readonly config: SpeechConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether the model provider of this name has a key. */
  hasKey(provider: string): boolean;
}

/** Check of the services that speak, and of the config's services that cannot. Sends nothing. */
export const speechCheck = (scene: Scene): Check => ({
  id: "messages.tts",
  title: "Speech",
  run: async () => results(scene),
});

function results({ config, env, hasKey }: Scene): readonly CheckResult[] {
  const { enabled, auto, provider, providers } = config;
  const names = Object.keys(providers);
  if (!enabled) return [{ status: "skip", message: "The config switches it off." }];
  if (names.length === 0 && auto === "off") return [{ status: "skip", message: "No service is set up." }];
  const unusable = Object.entries(providers).flatMap(([name, given]) => {
    const variable = keyVariableOf(name);
    const hasOne =
      given.apiKey !== undefined || hasKey(name) || (variable !== undefined && env[variable] !== undefined);
    const why = whyUnusable(name, given, hasOne ? "-" : undefined);
    return why === undefined ? [] : [[name, why] as const];
  });
  const usable = names.filter((name) => !unusable.some(([other]) => other === name));
  return [
    ...unusable.map(([name, why]): CheckResult => ({
      status: "warn",
      message: `The service ${name} is not asked: ${why}.`,
      fix: "Add what is missing, or remove the service.",
    })),
    ...(provider !== undefined && !names.includes(provider)
      ? [
          {
            status: "warn" as const,
            message: `messages.tts.provider names "${provider}", which is not among the services.`,
            fix: `Add messages.tts.providers.${provider}, or name another one.`,
          },
        ]
      : []),
    usable.length > 0
      ? { status: "ok", message: `Texts are spoken by ${usable.join(", ")}.` }
      : { status: "warn", message: "Nothing can speak.", fix: "Set up a service in messages.tts.providers." },
  ];
}
