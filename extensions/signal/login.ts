import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { LoginHost } from "openclaw/plugin-sdk";
import { z } from "zod";
import { startsDaemon } from "./config.ts";
import type { SignalConfig } from "./config.ts";
import { badConfig, METHOD_NOT_FOUND, unknownAccount } from "./failures.ts";
import { openDaemon, UNREACHED_FIX, DEFAULT_URL, whyNot } from "./rpc.ts";
import type { CallAnswer } from "./rpc.ts";

/** The name that the phone shows in its list of linked devices. */
const DEVICE_NAME = "openclaw";
/** Signal accepts the code for this time. */
const LINK_MS = 5 * 60_000;

const started = z.looseObject({ deviceLinkUri: z.string() });
const finished = z.looseObject({ number: z.string().nullish(), aci: z.string().nullish() });

export interface Linked {
  readonly id: string;
  readonly name: string;
}

/** Links signal-cli as a device of an account: the owner scans the code. Throws `OpenClawError`. */
export async function link(config: SignalConfig, host: LoginHost): Promise<Linked> {
  host.show({
    kind: "text",
    text: "On the phone: Signal, Settings, Linked devices, Link a new device. Scan this code.",
  });
  const account = startsDaemon(config) ? await linkHere(config, host) : await linkThere(config, host);
  host.show({ kind: "text", text: `Linked. Set channels.signal.account to ${account}.` });
  return { id: account, name: account };
}

/** Runs signal-cli's own command, which prints the code's URL, waits for the phone and prints the account. */
async function linkHere({ cliPath }: SignalConfig, host: LoginHost): Promise<string> {
  const child = spawn(cliPath, ["link", "-n", DEVICE_NAME], { stdio: ["ignore", "pipe", "pipe"], signal: host.signal });
  const ended = once(child, "close");
  let account: string | undefined;
  let lastLine = "";
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (/^(?:sgnl|tsdevice):/.test(line)) host.show({ kind: "qr", text: line });
    account = /^Associated with: (\S+)/.exec(line)?.[1] ?? account;
  });
  createInterface({ input: child.stderr }).on("line", (line) => {
    lastLine = line;
  });
  await ended.catch((cause: unknown) => {
    if (host.signal.aborted) throw unknownAccount("The account was not linked: the login was cancelled.");
    throw badConfig(`${cliPath} cannot be run.`, "Install signal-cli and Java, or set channels.signal.cliPath.", cause);
  });
  if (account === undefined) throw unknownAccount(`The account was not linked. ${lastLine}`.trim());
  return account;
}

async function linkThere(config: SignalConfig, { signal, show }: LoginHost): Promise<string> {
  const options = { timeoutMs: LINK_MS, account: () => undefined };
  const daemon = openDaemon(() => config.httpUrl ?? DEFAULT_URL, options);
  const { deviceLinkUri } = read(started, await daemon.call("startLink", {}, { signal }));
  show({ kind: "qr", text: deviceLinkUri });
  const answer = await daemon.call("finishLink", { deviceLinkUri, deviceName: DEVICE_NAME }, { signal });
  const { number, aci } = read(finished, answer);
  const account = number ?? aci;
  if (!account) throw unknownAccount("signal-cli does not say which account it linked.");
  return account;
}

function read<T>(schema: z.ZodType<T>, answer: CallAnswer): T {
  const { success, data, error } = schema.safeParse(answer.kind === "done" ? answer.result : undefined);
  if (success) return data;
  const reason = answer.kind === "done" ? "its answer is invalid" : whyNot(answer);
  throw badConfig(`signal-cli cannot link an account: ${reason}.`, fixOf(answer), error);
}

function fixOf(answer: CallAnswer): string {
  if (answer.kind === "done") return "Check that channels.signal.httpUrl leads to signal-cli.";
  if (answer.kind === "lost") return UNREACHED_FIX;
  return answer.error.code === METHOD_NOT_FOUND
    ? "A daemon that was started for one account (-a) links no other: run signal-cli link -n openclaw instead."
    : "Try again: openclaw channels login signal. The log of signal-cli may say more.";
}
