import {
  loginNames,
  loginCredentialOf,
  oauthProvider,
  type ProviderLoginTalk,
} from "../../../../providers/auth/renew.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { askLine, canAsk } from "../../ask.ts";
import type { Io } from "../../io.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { checkId, nobodyToAsk } from "./models-auth.ts";
import { openModelState } from "./models-state.ts";

export interface ModelLoginFlags {
  /** Whose login; that of all agents when unset. */
  readonly agent?: string;
  readonly provider: string;
  readonly profileId?: string;
}

/** Logs in with a subscription in the browser and stores the login. Throws USAGE without a terminal, or if there is no such login. */
export async function authLogin(io: Io, flags: ModelLoginFlags): Promise<number> {
  const { provider } = flags;
  const id = flags.profileId ?? `${provider}:default`;
  checkId(id, provider);
  const sdk = await oauthProvider(provider);
  if (!sdk) throw await noSuchLogin(provider);
  if (!canAsk(io)) throw nobodyToAsk("A login needs a terminal.");
  const { credentials } = await openModelState(io, flags.agent);
  // A broken file is reported before the person logs in.
  await credentials.read();
  const over = new AbortController();
  const found = await sdk
    .login(callbacks(io, over.signal))
    .catch((error: unknown) => {
      throw refused(sdk.name, error);
    })
    // An open question would keep the process running.
    .finally(() => over.abort());
  await credentials.put(id, loginCredentialOf({ provider }, found));
  io.out(`Stored ${id} in ${credentials.path}; a running gateway uses it from the next call on.\n`);
  return 0;
}

async function noSuchLogin(provider: string): Promise<OpenClawError> {
  const names = await loginNames();
  return new OpenClawError("USAGE", {
    message: `There is no login for "${provider}".`,
    fix: `Logins: ${names.join(", ")}; others take a key: openclaw models auth add --provider ${provider}`,
  });
}

function callbacks(io: Io, signal: AbortSignal): ProviderLoginTalk {
  return {
    signal,
    onAuth({ url, instructions }) {
      io.err(`Open this address:\n  ${withoutTerminalControls(url)}\n`);
      if (instructions !== undefined) io.err(`${withoutTerminalControls(instructions)}\n`);
    },
    onProgress: (message) => io.err(`${withoutTerminalControls(message)}\n`),
    onPrompt: ({ message, placeholder }) =>
      askLine(`${withoutTerminalControls(message)}${placeholder === undefined ? "" : ` (${placeholder})`} `),
    onManualCodeInput: () => pasted(signal),
    async onSelect({ message, options }) {
      options.forEach(({ label }, index) => io.err(`  ${index + 1}  ${withoutTerminalControls(label)}\n`));
      const answer = Number(await askLine(`${withoutTerminalControls(message)} [1-${options.length}] `));
      return options[answer - 1]?.id;
    },
  };
}

/** Asks for the browser's last address, which a person pastes if the browser is on another machine. */
function pasted(signal: AbortSignal): Promise<string> {
  return askLine("Paste the address or code here if the browser cannot come back by itself: ", signal).catch(
    (error: unknown) => {
      if (signal.aborted) return "";
      throw error;
    },
  );
}

/** The SDK's message may contain the answer with its tokens, so only its first words and the status are shown. */
function refused(name: string, cause: unknown): OpenClawError {
  const text = cause instanceof Error ? cause.message : "";
  const status = /\bstatus=(\d{3})|\b([45]\d\d)\b/.exec(text);
  const code = status?.[1] ?? status?.[2];
  const port = /EADDRINUSE/.test(text) ? " because another login holds its port" : "";
  return new OpenClawError("MODEL_KEY_MISSING", {
    message: `${name} did not let you in${port}${code === undefined ? "" : ` (HTTP ${code})`}.`,
    fix: "Try it again; a key works too: openclaw models auth add --provider <id>",
  });
}
