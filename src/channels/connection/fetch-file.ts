import type { FetchedFile, FetchRequest } from "../../types/chat/channel.ts";
import { OpenClawError } from "../../types/errors.ts";
import { NotNow } from "../../types/not-now.ts";
import { FetchRefused } from "../../utils/net/safe-fetch.ts";
import { isPassingStatus, retryAfterMs } from "./outcome.ts";

/** `ChannelHost.fetch` with the limit of bytes that the request or its channel names. */
export async function fetchForChannel(
  url: string,
  request: FetchRequest & { maxBytes: number },
  signal: AbortSignal,
): Promise<FetchedFile> {
  const { safeFetch } = await import("../../utils/net/safe-fetch.ts");
  try {
    return await safeFetch(url, { ...request, signal });
  } catch (error) {
    throw error instanceof FetchRefused ? fetchError(error) : error;
  }
}

function fetchError(refused: FetchRefused): Error {
  const { because, message, retryAfter, cause = refused } = refused;
  if (isTemporary(refused)) return new NotNow(message, { afterMs: retryAfterMs(retryAfter), cause });
  const tooLarge = because === "too-large";
  return new OpenClawError(tooLarge ? "MEDIA_TOO_LARGE" : "MEDIA_UNAVAILABLE", {
    message: `The file cannot be fetched: ${message}.`,
    fix: tooLarge ? "Raise mediaMaxMb of the channel, or send a smaller file." : "Send the file again.",
    cause: refused,
  });
}

/** A failure of the network, or of a server that is busy, limits its callers or is down. */
const isTemporary = ({ because, status = 0 }: FetchRefused): boolean =>
  because === "network" || (because === "status" && isPassingStatus(status));
