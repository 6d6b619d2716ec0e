import { OpenClawError } from "../../../../types/errors.ts";
import { KEY_CHOICES, REFUSED_FLAGS, SERVER_CHOICES } from "../../provider-choices.ts";

/** Flags as the parser gives them, by their names in camel case. */
export type Flags = Readonly<Record<string, unknown>>;

const camel = (name: string): string => name.replaceAll(/-(\w)/g, (_all, letter: string) => letter.toUpperCase());

/** The value of a flag by its name without dashes at its beginning. */
export function flagText(flags: Flags, name: string): string | undefined {
  const value = flags[camel(name)];
  return typeof value === "string" ? value : undefined;
}

export function numberOf(flags: Flags, name: string): number | undefined {
  const value = flags[camel(name)];
  return typeof value === "number" ? value : undefined;
}

export const isOn = (flags: Flags, name: string): boolean => flags[camel(name)] === true;

const isGiven = (flags: Flags, name: string): boolean => {
  const value = flags[camel(name)];
  return value !== undefined && value !== false;
};

/** A flag that makes sense only together with one of others, or with a choice. */
interface Needs {
  readonly flags: readonly string[];
  readonly fits: (flags: Flags) => boolean;
  readonly why: string;
  readonly fix: string;
}

const choiceIs =
  (...choices: readonly string[]) =>
  (flags: Flags): boolean => {
    const choice = flagText(flags, "auth-choice");
    return choice !== undefined && choices.includes(choice);
  };

const isToken = choiceIs("token", "setup-token");
const isServer = choiceIs(...SERVER_CHOICES.flatMap(({ choices }) => choices));
const isCustom = (flags: Flags): boolean =>
  choiceIs("custom-api-key")(flags) ||
  (flagText(flags, "auth-choice") === undefined && flagText(flags, "custom-base-url") !== undefined);
const NEEDS: readonly Needs[] = [
  {
    flags: ["token", "token-provider", "token-profile-id", "token-expires-in"],
    fits: isToken,
    why: "belongs to a token of a subscription",
    fix: "Add --auth-choice token, or leave it out. The gateway's own token is --gateway-token.",
  },
  {
    flags: ["custom-api-key"],
    fits: (flags) => isCustom(flags) || isServer(flags),
    why: "belongs to a custom provider",
    fix: "Add --auth-choice custom-api-key with --custom-base-url, or leave it out.",
  },
  {
    flags: ["custom-provider-id", "custom-compatibility", "custom-image-input", "custom-text-input"],
    fits: isCustom,
    why: "belongs to a custom provider",
    fix: "Add --auth-choice custom-api-key with --custom-base-url, or leave it out.",
  },
  {
    flags: ["custom-base-url"],
    fits: (flags) => isCustom(flags) || isServer(flags),
    why: "belongs to a custom provider or a server of one's own",
    fix: "Add --auth-choice custom-api-key, ollama, lmstudio, llama-cpp, vllm or sglang.",
  },
  {
    flags: ["custom-model-id"],
    fits: (flags) => flagText(flags, "auth-choice") !== "skip",
    why: "names a model, and --auth-choice skip wants none",
    fix: "Leave one of both out.",
  },
  {
    flags: ["reset-scope"],
    fits: (flags) => isOn(flags, "reset"),
    why: "says how much --reset sets aside",
    fix: "Add --reset, or leave it out.",
  },
  {
    flags: ["remote-url", "remote-token", "remote-password"],
    fits: (flags) => flagText(flags, "mode") === "remote",
    why: "belongs to --mode remote",
    fix: "Leave it out.",
  },
  ...KEY_CHOICES.map(({ flag }): Needs => ({
    flags: [flag],
    fits: (flags) => {
      const choice = flagText(flags, "auth-choice");
      return choice === undefined
        ? !isCustom(flags)
        : KEY_CHOICES.some((one) => one.choice === choice && one.flag === flag);
    },
    why: "is not the key of the chosen provider",
    fix: "Leave it out, or choose its provider with --auth-choice.",
  })),
  ...SERVER_CHOICES.flatMap(({ flag, choices }): readonly Needs[] =>
    flag === undefined
      ? []
      : [
          {
            flags: [flag],
            fits: choiceIs(...choices),
            why: "is not the key of the chosen provider",
            fix: `Add --auth-choice ${choices[0] ?? ""}, or leave it out.`,
          },
        ],
  ),
];

/** Pairs of flags that exclude each other. */
const EITHER: readonly (readonly [string, string])[] = [
  ["gateway-token", "gateway-token-ref-env"],
  ["gateway-token", "gateway-password"],
  ["gateway-token-ref-env", "gateway-password"],
  ["skip-daemon", "install-daemon"],
];

/** Throws USAGE for the first flag that is not possible, or not with the others. */
export function checkFlags(flags: Flags): void {
  for (const [usageText, reason] of REFUSED_FLAGS) {
    const name = usageText.slice(2).split(" ")[0] ?? "";
    if (isGiven(flags, name)) throw usage(`--${name} is not possible here.`, reason);
  }
  const tailscale = flagText(flags, "tailscale");
  if (tailscale !== undefined && tailscale !== "off")
    throw usage(
      "The gateway does not run Tailscale itself.",
      "Run `tailscale serve` beside it, or give --gateway-bind tailnet.",
    );
  for (const { flags: names, fits, why, fix } of NEEDS) {
    const name = names.find((one) => isGiven(flags, one));
    if (name !== undefined && !fits(flags)) throw usage(`--${name} ${why}.`, fix);
  }
  const both = EITHER.find((pair) => pair.every((name) => isGiven(flags, name)));
  if (both) throw usage(`--${both[0]} and --${both[1]} exclude each other.`, "Give one.");
  const mode = flagText(flags, "gateway-auth");
  if (mode === "password" && (isGiven(flags, "gateway-token") || isGiven(flags, "gateway-token-ref-env")))
    throw usage("--gateway-auth password takes no token.", "Give --gateway-password, or --gateway-auth token.");
  if (mode === "token" && isGiven(flags, "gateway-password"))
    throw usage("--gateway-auth token takes no password.", "Give --gateway-token, or --gateway-auth password.");
}

/** Flags that do not answer a question. */
const WITH_TALK = new Set([
  "acceptRisk",
  "agentName",
  "classic",
  "flow",
  "installDaemon",
  "mode",
  "modern",
  "remotePassword",
  "remoteToken",
  "remoteUrl",
  "reset",
  "resetScope",
  "skipBootstrap",
  "skipChannels",
  "skipDaemon",
  "skipHealth",
  "skipHooks",
  "skipSearch",
  "skipSkills",
  "skipUi",
  "suppressGatewayTokenOutput",
  "workspace",
]);

/** Throws USAGE for a flag that is an answer where questions are asked. */
export function checkTalkFlags(flags: Flags): void {
  checkFlags(flags);
  const name = Object.keys(flags).find((one) => isGiven(flags, one) && !WITH_TALK.has(one));
  if (name === undefined) return;
  const dashed = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw usage(
    `--${dashed} belongs to a set-up without questions.`,
    "Add --non-interactive --accept-risk, or leave it out and answer.",
  );
}

const usage = (message: string, fix: string): OpenClawError => new OpenClawError("USAGE", { message, fix });
