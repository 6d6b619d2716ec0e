import type { SignalConfig } from "../config.ts";
import type { Contact, DataMessage, Preview } from "./schema.ts";

/** Lines about content that is neither text nor a file, and about limits on keeping the message. */
export function untrustedOf(message: DataMessage, config: Pick<SignalConfig, "ignoreAttachments">): readonly string[] {
  const { pollCreate: poll, payment, expiresInSeconds } = message;
  return [
    ...(message.contacts ?? []).map(contactLine),
    ...(message.previews ?? []).flatMap(previewLine),
    ...(poll ? [`Poll: ${poll.question ?? ""} (${(poll.options ?? []).join(" / ")})`] : []),
    ...(payment ? [`Payment: ${payment.note ?? "without a note"}`] : []),
    ...(message.storyContext ? ["Answers a story"] : []),
    ...unloaded(message, config),
    ...(message.viewOnce ? ["To be viewed once"] : []),
    ...(expiresInSeconds ? [`Disappears after ${expiresInSeconds} s`] : []),
  ];
}

function unloaded({ attachments }: DataMessage, config: Pick<SignalConfig, "ignoreAttachments">): readonly string[] {
  return (attachments ?? [])
    .filter(({ id }) => config.ignoreAttachments || !id)
    .map(({ filename, contentType }) => `File, not loaded: ${filename ?? contentType ?? "of unknown type"}`);
}

function previewLine({ title, description }: Preview): readonly string[] {
  const parts = [title, description].filter(Boolean);
  return parts.length === 0 ? [] : [`Link preview: ${parts.join(", ")}`];
}

function contactLine({ name, phone, email, organization }: Contact): string {
  const full = name?.display ?? [name?.given, name?.family].filter(Boolean).join(" ");
  const ways = [...(phone ?? []), ...(email ?? [])].map(({ value }) => value);
  return `Contact: ${[full || name?.nickname, organization, ...ways].filter(Boolean).join(", ")}`;
}
