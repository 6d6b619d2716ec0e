import { NotNow, OpenClawError } from "openclaw/plugin-sdk";
import type { FetchedFile, MediaItem } from "openclaw/plugin-sdk";
import { z } from "zod";
import type { SignalConfig } from "../config.ts";
import { isTemporary, outcomeOf } from "../failures.ts";
import { readFileRef } from "./media.ts";
import { whyNot } from "../rpc.ts";
import type { CallAnswer, Daemon } from "../rpc.ts";

const fileData = z.looseObject({ data: z.base64() });

/** Fetches a file from signal-cli. Throws like `ChannelLink.download`. */
export async function download(daemon: Daemon, config: SignalConfig, item: MediaItem): Promise<FetchedFile> {
  if (item.source.at !== "platform") throw unavailable("it is not on Signal");
  const limit = config.mediaMaxMb * 1_048_576;
  if ((item.bytes ?? 0) > limit) throw tooLarge(config);
  const call = readFileRef(item.source.ref);
  if (!call) throw unavailable("the answer to it only names it");
  const answer = await daemon.call(call.method, call.params);
  if (answer.kind !== "done") throw whyNoFile(answer);
  const { success, data: file } = fileData.safeParse(answer.result);
  if (!success) throw unavailable("signal-cli gives no data for it");
  const bytes = new Uint8Array(Buffer.from(file.data, "base64"));
  if (bytes.length > limit) throw tooLarge(config);
  return {
    bytes,
    ...(item.mime !== undefined && { mime: item.mime }),
    ...(item.name !== undefined && { name: item.name }),
  };
}

function whyNoFile(answer: Exclude<CallAnswer, { kind: "done" }>): Error {
  const outcome = answer.kind === "error" ? outcomeOf(answer.error) : answer.outcome;
  const isFinal = answer.kind === "error" ? !isTemporary(answer.error) : outcome.kind === "refused";
  if (isFinal) return unavailable(whyNot(answer));
  return new NotNow(outcome.reason, { afterMs: outcome.kind === "retry" ? outcome.afterMs : undefined });
}

const unavailable = (reason: string): OpenClawError =>
  new OpenClawError("MEDIA_UNAVAILABLE", {
    message: `A file cannot be fetched from signal-cli: ${reason}.`,
    fix: "Ask the sender to send the file again; signal-cli must run without --ignore-attachments.",
  });

const tooLarge = (config: SignalConfig): OpenClawError =>
  new OpenClawError("MEDIA_TOO_LARGE", {
    message: `A file on Signal is larger than ${config.mediaMaxMb} MB.`,
    fix: "Ask for a smaller file, or raise channels.signal.mediaMaxMb (100 at most).",
  });
