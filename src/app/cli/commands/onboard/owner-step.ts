import { setTimeout as sleep } from "node:timers/promises";
import type { z } from "zod";
import { pairingAnswers } from "../../../../types/answers/pairing.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { callOnce } from "../../call-gateway.ts";
import type { Io } from "../../io.ts";
import { readState } from "../../state.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { untilFollowed } from "../../until-followed.ts";
import type { SetUpChannel } from "./channel-step.ts";
import type { Companion } from "./companion.ts";
import { writeEdits, type SetupScene } from "./scene.ts";
import type { TerminalQuestions } from "./talk.ts";

/** The owner's own chat. */
export interface OwnerChat {
  readonly channel: string;
  readonly id: string;
  readonly account?: string;
}

type Stranger = z.output<typeof pairingAnswers.list>["requests"][number];

/** Makes the person who sets up the owner, by a message that this person writes, or by the id. Undefined when nobody is made one. */
export async function ownerStep(
  talk: TerminalQuestions,
  scene: SetupScene,
  { channel, companion }: { channel: SetUpChannel; companion: Companion },
): Promise<OwnerChat | undefined> {
  const known = ownerOn(scene, channel.id);
  if (known) {
    talk.done(`You are the owner there already: ${known.channel}:${known.id}`);
    return known;
  }
  talk.say("Starting the gateway, so that it hears you …");
  try {
    await companion.start(scene.io);
  } catch (error) {
    talk.failed(error);
    return typedOwner(talk, scene, channel);
  }
  const bot = channel.answersAs === undefined ? channel.label : `${channel.label} (${channel.answersAs})`;
  const end = await talk.chooseUntil(
    `Now write any message to ${bot} from your own account. Waiting for it …`,
    [
      { value: "type", label: "Type my id instead" },
      { value: "skip", label: "Go on without an owner", hint: "everybody counts as a guest" },
    ],
    (signal) => firstStranger(scene.io, channel.id, signal),
  );
  if ("chosen" in end) return end.chosen === "type" ? typedOwner(talk, scene, channel) : undefined;
  return letIn(talk, scene, end.found);
}

/** The first id that the config names as an owner on this channel. */
export function ownerOn({ state }: SetupScene, channel: string): OwnerChat | undefined {
  const found = state.config.commands.ownerAllowFrom.find((one) => one.startsWith(`${channel}:`));
  return found === undefined ? undefined : { channel, id: found.slice(channel.length + 1) };
}

const LOOK_EVERY_MS = 300;

/** Resolves with the first stranger who has a code. Never resolves after the abort. */
async function firstStranger(io: Io, channel: string, signal: AbortSignal): Promise<Stranger> {
  while (!signal.aborted) {
    const state = await readState(io);
    const call = { method: "pairing.list", shape: pairingAnswers.list };
    const { requests } = await callOnce(io, state, call, { isQuiet: true });
    const found = requests.find((one) => one.channel === channel);
    if (found) return found;
    await sleep(LOOK_EVERY_MS);
  }
  return new Promise(() => undefined);
}

async function letIn(talk: TerminalQuestions, scene: SetupScene, stranger: Stranger): Promise<OwnerChat | undefined> {
  const { channel, code, senderId, account, name } = stranger;
  const who = withoutTerminalControls(name === undefined ? senderId : `${name} (${senderId})`);
  const isMe = await talk.confirm(`${who} has written; the code in that chat is ${code}. Is this you?`);
  if (!isMe) {
    talk.warn(`Nobody was let in. Who waits: openclaw pairing list`);
    return undefined;
  }
  const state = await readState(scene.io);
  const params = { channel, code, accountId: account };
  await callOnce(
    scene.io,
    state,
    { method: "pairing.approve", params, shape: pairingAnswers.approve },
    { isQuiet: true },
  );
  await makeOwner(scene, channel, senderId);
  talk.done(`${who} may write, and is the owner.`);
  return { channel, id: senderId, account };
}

async function typedOwner(
  talk: TerminalQuestions,
  scene: SetupScene,
  { id: channel, label }: SetUpChannel,
): Promise<OwnerChat> {
  const id = await talk.type({
    message: `Your own id on ${label}`,
    check: (text) =>
      /^[\w:.+@-]+$/.test(text) ? undefined : "An id has no blanks: a number, or a phone number with +.",
  });
  await makeOwner(scene, channel, id);
  talk.done(`${channel}:${id} is the owner.`);
  return { channel, id };
}

/** Names an owner in the config, beside those that it has, and lets them write. */
async function makeOwner({ io, state }: SetupScene, channel: string, id: string): Promise<void> {
  const scene = { state: await readState(io) };
  if (scene.state.problem) throw scene.state.problem;
  const { ownerAllowFrom } = scene.state.config.commands;
  const owner = `${channel}:${id}`;
  if (ownerAllowFrom.includes(owner)) return;
  await writeEdits({ state }, [{ path: ["commands", "ownerAllowFrom"], value: [...ownerAllowFrom, owner] }]);
  await untilFollowed(io, scene.state).catch((error: unknown) => {
    if (!(error instanceof OpenClawError)) throw error;
  });
}
