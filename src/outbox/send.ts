import type { ChannelLink, SendOptions, SendResult } from "../types/chat/channel.ts";
import type { GapCause, OutboxRow, PlannedRow } from "../types/journal.ts";
import type { Peer } from "../types/chat/message.ts";
import { isGapLine } from "./gaps.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import { pause } from "../utils/pause.ts";
import { within } from "../utils/within.ts";
import type { OutboxDeps } from "./ports.ts";
import { labelled } from "./render.ts";
import { notifySent } from "./send-hooks.ts";

export interface SendPorts extends OutboxDeps {
  readonly signal: AbortSignal;
  readonly rate: RateLimiter;
  /** Called when the journal has a row that the chat may have missed. */
  gap(to: Peer): void;
}

/** A row that is being sent. */
interface Underway extends PlannedRow {
  /** A preview of the reply remains in the chat, which can neither be edited nor removed. */
  readonly hasPreviewLeft?: boolean;
  /** The platform has refused the message as it was; this is its text alone. */
  readonly isPlain?: true;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** Milliseconds without a connection after which the journal and the log say that the reply waits for one. */
const NO_LINK_MS = 30_000;
/**
 * A reply of this age in milliseconds is too old to be sent: it is marked as failed, and operator and chat are
 * informed.
 */
const STALE_MS = 6 * 60 * 60 * 1000;

/**
 * Sends one chunk until its outcome is known, or the gateway stops. A row that is begun already has its turn. Throws only when
 * the journal cannot be written.
 */
export async function sendRow(row: PlannedRow, ports: SendPorts): Promise<void> {
  let current: Underway = row;
  for (let tries = 0; !ports.signal.aborted; tries += 1) {
    if (isTooOld(row, ports)) return tooOld(row, ports);
    if (!(await hasTurn(current, ports)) || ports.signal.aborted) continue;
    const link = ports.links.link(current.to);
    const found = link && (await lookFor(current, link));
    if (found?.kind === "retry") current = { ...current, state: "planned" };
    const result = found?.kind === "sent" ? found : await callPlatform(current, link, ports);
    const after = await settle(current, result, ports);
    if (after === "done") return;
    const { isBegun: _tried, ...again } = after;
    current = again;
    await waitForRetry(current, result, { tries, ports });
  }
  // The gateway stops before the first try: nobody has to wonder whether it arrived.
  if (current.isBegun === true) await ports.journal.mark(row.id, { state: "planned" });
}

/** True without a connection, where the next round waits for one. */
const lacksLink = ({ to }: OutboxRow, { links }: SendPorts): boolean =>
  links.linked !== undefined && links.link(to) === undefined;

/** Waits until the row may be sent. False when it may not after all: it is too old, or the gateway stops. */
async function hasTurn(row: Underway, ports: SendPorts): Promise<boolean> {
  if (row.isBegun === true) return true;
  await waitForLink(row, ports);
  return ports.rate.waitTurn(row.to, ports.signal, endOf(row, ports));
}

/**
 * Waits for the connection of the chat's account, because a reply right after a start would be tried in vain. The wait
 * is limited, so that the journal says why the reply was not sent.
 */
async function waitForLink(row: OutboxRow, ports: SendPorts): Promise<void> {
  const { links, signal, clock } = ports;
  if (!links.linked || !lacksLink(row, ports)) return;
  const stop = new AbortController();
  const ms = Math.min(NO_LINK_MS, Math.max(0, endOf(row, ports) - clock.now()));
  await within(links.linked(row.to, AbortSignal.any([signal, stop.signal])), ms, clock);
  stop.abort();
}

const maxAgeOf = ({ maxAgeMs }: SendPorts): number => maxAgeMs?.() ?? STALE_MS;

/** Epoch milliseconds at which the row is too old to be sent. */
const endOf = ({ retriedAt, createdAt }: OutboxRow, ports: SendPorts): number =>
  (retriedAt ?? createdAt) + maxAgeOf(ports) + 1;

const isTooOld = (row: OutboxRow, ports: SendPorts): boolean => ports.clock.now() >= endOf(row, ports);

/** Marks the failure and the gap in one write, so that after a crash the next start informs the chat. */
async function giveUp(row: OutboxRow, why: { error: string; gap: GapCause }, ports: SendPorts): Promise<void> {
  const { error, gap } = why;
  const isGivenUp = gap !== "refused" && gap !== "unfit";
  await ports.journal.mark(row.id, { state: "failed", error, isGivenUp, ...(!isGapLine(row) && { gap }) });
  notifySent(row, { success: false, error }, ports);
  ports.gap(row.to);
}

async function tooOld(row: OutboxRow, ports: SendPorts): Promise<void> {
  const hours = Math.round(maxAgeOf(ports) / 360_000) / 10;
  const error = `older than ${hours} hours when it could be sent`;
  ports.log.error("reply not sent: too old", { reply: row.replyKey, channel: row.to.channel });
  await giveUp(row, { error, gap: "late" }, ports);
}

const mayHaveArrived = (row: OutboxRow): boolean => row.state === "unknown" && row.editOf === undefined;

/** Asks the platform, where possible, about an earlier try: `sent`, certainly not sent (`retry`), or undefined. */
async function lookFor(row: OutboxRow, link: ChannelLink): Promise<SendResult | undefined> {
  if (!mayHaveArrived(row) || !link.find) return undefined;
  try {
    return await link.find(row.to, row.body, namesOf(row));
  } catch {
    // The message may still have arrived, so it is sent with its label.
    return undefined;
  }
}

/** Identifies a send; the same for every try. */
const namesOf = (row: OutboxRow): Pick<SendOptions, "idempotencyKey" | "replyTo"> => ({
  idempotencyKey: row.sendKey,
  ...(row.replyTo !== undefined && { replyTo: row.replyTo }),
});

async function callPlatform(row: Underway, link: ChannelLink | undefined, ports: SendPorts): Promise<SendResult> {
  if (!link) return { kind: "retry", reason: "channel is not connected" };
  const isRepeat = mayHaveArrived(row);
  if (row.isBegun !== true) await ports.journal.mark(row.id, { state: "sending", ...(isRepeat && { isRepeat }) });
  try {
    const isLabelled = (isRepeat || row.hasPreviewLeft === true) && ports.labelsRepeats?.() !== false;
    return await callLink(row, link, isLabelled);
  } catch (error) {
    return { kind: "unknown", reason: `the adapter broke: ${String(error)}` };
  }
}

async function callLink(row: OutboxRow, link: ChannelLink, isLabelled: boolean): Promise<SendResult> {
  if (row.editOf !== undefined && row.body.kind === "text" && link.edit) {
    return link.edit(row.to, row.editOf, row.body, row.buttons && { buttons: row.buttons });
  }
  return link.send(row.to, isLabelled ? labelled(row.body) : row.body, {
    ...namesOf(row),
    ...(row.answers !== undefined && { answers: row.answers }),
    ...(row.buttons && { buttons: row.buttons }),
    ...(row.silent === true && { silent: true }),
  });
}

/** Records the result of a try. Returns the row to be tried again, or `done`. */
async function settle(row: Underway, result: SendResult, ports: SendPorts): Promise<Underway | "done"> {
  const fields = { reply: row.replyKey, part: row.part, channel: row.to.channel };
  switch (result.kind) {
    case "sent":
      await ports.journal.mark(row.id, { state: "sent", messageId: result.messageId });
      ports.log.info("delivered", { ...fields, message: result.messageId });
      ports.onSent?.(row.to);
      notifySent(row, { success: true, messageId: result.messageId }, ports);
      return "done";
    case "retry":
      // A message that may have arrived stays unknown, whatever a later try reports.
      await ports.journal.mark(row.id, {
        state: row.state === "unknown" ? "unknown" : "planned",
        error: result.reason,
      });
      ports.log.warn("send again", { ...fields, reason: result.reason, afterMs: result.afterMs });
      return row;
    case "unknown":
      return unknown(row, result.reason, ports);
    case "refused":
      return refused(row, result, ports);
  }
}

/** An edit may be repeated. A new message is sent once more with a label, and then given up. */
async function unknown(row: Underway, reason: string, ports: SendPorts): Promise<Underway | "done"> {
  const fields = { reply: row.replyKey, part: row.part, channel: row.to.channel, reason };
  if (row.editOf === undefined && row.state === "unknown") {
    ports.log.error("nobody knows whether the reply arrived", fields);
    await giveUp(row, { error: `sent twice, both times with unknown end: ${reason}`, gap: "unknown" }, ports);
    return "done";
  }
  ports.log.warn("send with unknown end", fields);
  await ports.journal.mark(row.id, { state: "unknown", error: reason });
  return row.editOf === undefined ? { ...row, state: "unknown" } : row;
}

/**
 * A preview that cannot become the reply gives way to a new message, and a message that is at fault to its plain text. Any other refusal is
 * the end.
 */
async function refused(
  row: Underway,
  { reason, isUnfit }: Extract<SendResult, { kind: "refused" }>,
  ports: SendPorts,
): Promise<Underway | "done"> {
  if (row.editOf !== undefined) return insteadOf(row.editOf, row, ports);
  const fields = { reply: row.replyKey, channel: row.to.channel, reason };
  const plain = isUnfit ? plainly(row) : undefined;
  if (plain) {
    ports.log.warn("platform refused the reply; its plain text follows", fields);
    return plain;
  }
  ports.log.error("platform refused the reply", fields);
  await giveUp(row, { error: reason, gap: isUnfit ? "unfit" : "refused" }, ports);
  return "done";
}

/** The row's text and nothing else. Undefined when that is no other message. */
function plainly({ buttons, replyTo, ...row }: Underway): Underway | undefined {
  const { body } = row;
  const isOther = body.kind === "text" && (body.format !== "plain" || buttons !== undefined || replyTo !== undefined);
  if (!isOther || row.isPlain) return undefined;
  return { ...row, body: { kind: "text", body: body.plain, plain: body.plain, format: "plain" }, isPlain: true };
}

/** Removes a preview that cannot be edited. If that fails, the whole answer is labelled as a possible repeat. */
async function insteadOf(preview: string, row: Underway, ports: SendPorts): Promise<Underway> {
  const { editOf: _gone, ...asNew } = row;
  const removed = await removeOf(preview, row, ports);
  if (removed?.kind === "sent") return asNew;
  await ports.journal.mark(row.id, { state: "planned", isRepeat: true });
  const why = removed?.reason ?? "the channel removes nothing";
  ports.log.warn("preview left in the chat", { reply: row.replyKey, channel: row.to.channel, message: preview, why });
  return { ...asNew, hasPreviewLeft: true };
}

async function removeOf(preview: string, { to }: OutboxRow, { links }: SendPorts): Promise<SendResult | undefined> {
  try {
    return await links.link(to)?.remove?.(to, preview);
  } catch (error) {
    return { kind: "unknown", reason: `the adapter broke: ${String(error)}` };
  }
}

/** Waits before the next try, but never beyond the age limit: a platform that demands hours must not block later replies. */
async function waitForRetry(
  row: OutboxRow,
  result: SendResult,
  { tries, ports }: { tries: number; ports: SendPorts },
): Promise<void> {
  if (result.kind === "refused" || lacksLink(row, ports)) return;
  const backoff = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(tries, 10));
  const ms = result.kind === "retry" ? (result.afterMs ?? backoff) : backoff;
  if (result.kind === "retry" && result.rateLimited === true) ports.rate.refused(row.to, ms);
  await pause(Math.min(ms, Math.max(0, endOf(row, ports) - ports.clock.now())), ports);
}
