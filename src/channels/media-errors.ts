import { OpenClawError } from "../types/errors.ts";

/** Error of `ChannelLink.download`: the platform will never give the file. `reason` completes a sentence. */
export const mediaUnavailable = (
  platform: string,
  reason: string,
  fix = "Ask the sender to send the file again.",
): OpenClawError =>
  new OpenClawError("MEDIA_UNAVAILABLE", {
    message: `A file cannot be fetched from ${platform}: ${reason}.`,
    fix,
  });

/** Error of `ChannelLink.download`: the file is larger than `mediaMaxMb` of the channel. */
export const mediaTooLarge = (platform: string, channel: string, maxMb: number): OpenClawError =>
  new OpenClawError("MEDIA_TOO_LARGE", {
    message: `A file on ${platform} is larger than ${maxMb} MB.`,
    fix: `Ask for a smaller file, or raise channels.${channel}.mediaMaxMb.`,
  });
