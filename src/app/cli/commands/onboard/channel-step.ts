import { checkAccount } from "../../../../channels/checks.ts";
import { keysFrom, setupErrorIn, setupFields, withImplied } from "../../../../channels/setup.ts";
import type { CheckResult } from "../../../../types/check.ts";
import type { SetupField } from "../../../../types/answers/channels.ts";
import type { ChannelContribution } from "../../../../types/contribution.ts";
import { accountId } from "../../../../types/ids.ts";
import { findChannel } from "../../../accounts/channel-accounts.ts";
import { putAccount, readAccountToBe } from "../../../accounts/channel-edit.ts";
import type { Io } from "../../io.ts";
import { channelsLogin } from "../channels/channels-login.ts";
import type { SetupScene } from "./scene.ts";
import type { TerminalQuestions } from "./talk.ts";

/** A channel that a step has set up, and the name of its account at the platform if it is known. */
export interface SetUpChannel {
  readonly id: string;
  readonly label: string;
  readonly answersAs?: string;
}

/** Sets up a channel. Its platform is asked before anything is written, where it can be. Undefined when none is wanted. */
export async function channelStep(talk: TerminalQuestions, scene: SetupScene): Promise<SetUpChannel | undefined> {
  const { contributions } = scene.io;
  const offered = contributions.channels.filter(({ setup }) => setup.flags.length > 0 || setup.missing === undefined);
  for (;;) {
    const id = await talk.choose("Where do you want to write to the agent?", [
      ...offered.map(({ id: value, label }) => ({ value: value as string, label })),
      { value: NONE, label: "On the page only", hint: "channels can be added later" },
    ]);
    if (id === NONE) return undefined;
    const made = await addChannel(talk, scene, findChannel(contributions, id));
    if (made !== "other") return made;
  }
}

const NONE = "none";
type Keys = ReadonlyMap<string, unknown>;

/** `other`: the person wants to choose another channel. Undefined when the person wants none. */
async function addChannel(
  talk: TerminalQuestions,
  { io, state }: SetupScene,
  channel: ChannelContribution,
): Promise<SetUpChannel | "other" | undefined> {
  const { id, label } = channel;
  const of = { channel: id, account: undefined };
  for (;;) {
    const before = await readAccountToBe(state.load, of);
    const keys = await askKeys(talk, channel, before);
    talk.say(`Asking ${label} …`);
    const checked = await liveCheck(channel, { ...before, enabled: true, ...Object.fromEntries(keys) });
    if (checked.status === "ok" || checked.status === "skip") {
      await putAccount(state.load, of, keys);
      talk.done(`${label} is set up${checked.status === "ok" ? `: it ${checked.message}` : ""}.`);
      await link(talk, channel, io);
      return { id, label, ...(checked.status === "ok" && { answersAs: checked.message.replace(/^answers as /, "") }) };
    }
    talk.warn(`${label}: ${checked.message}\n${checked.fix ?? ""}\nNothing was written.`);
    const next = await talk.choose("What now?", [
      { value: "again", label: "Type it again" },
      { value: "other", label: "Choose another channel" },
      { value: "skip", label: "Go on without a channel" },
    ]);
    if (next !== "again") return next === "other" ? "other" : undefined;
  }
}

/** The values of the channel's form, asked until they fit. */
async function askKeys(
  talk: TerminalQuestions,
  channel: ChannelContribution,
  before: Readonly<Record<string, unknown>>,
): Promise<Keys> {
  for (;;) {
    const given: (readonly [string, string])[] = [];
    for (const field of setupFields(channel).filter(({ name }) => name !== "tokenFile")) {
      const text = await askField(talk, field);
      if (text !== "") given.push([field.name, text]);
    }
    const keys = withImplied(channel, keysFrom(channel, given, false), before);
    const wrong = setupErrorIn(channel, keys, before);
    if (!wrong) return keys;
    talk.warn(`${wrong.message} ${wrong.fix}`);
  }
}

function askField(talk: TerminalQuestions, { label, secret, required }: SetupField): Promise<string> {
  const message = `${label}${required ? "" : " (may stay empty)"}`;
  return secret ? talk.typeHidden({ message, mayBeEmpty: !required }) : talk.type({ message, mayBeEmpty: !required });
}

const CHECK_MS = 15_000;

/** Asks the platform with settings that are in no file yet. Never throws. */
async function liveCheck(channel: ChannelContribution, input: Readonly<Record<string, unknown>>): Promise<CheckResult> {
  const adapter = await channel.adapter();
  const parsed = adapter.config.safeParse(input);
  if (!parsed.success)
    return {
      status: "fail",
      message: parsed.error.issues.map(({ message }) => message).join("; "),
      fix: "Type it again.",
    };
  const account = { adapter, account: accountId("default"), config: parsed.data, enabled: true, isNamed: false };
  return checkAccount(account, AbortSignal.timeout(adapter.probeMs ?? CHECK_MS));
}

/** Links an account that needs it, such as by a QR code. One that is not linked now can be linked later. */
async function link(talk: TerminalQuestions, { id, label, adapter }: ChannelContribution, io: Io): Promise<void> {
  if ((await adapter()).login === undefined) return;
  const command = `openclaw channels login --channel ${id}`;
  if (!(await talk.confirm(`${label} has to be linked with your phone. Do it now?`)))
    return talk.warn(`Link it later: ${command}`);
  try {
    await channelsLogin(io, { channel: id });
  } catch (error) {
    talk.failed(error);
    talk.warn(`Link it later: ${command}`);
  }
}
