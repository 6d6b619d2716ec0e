import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { newId } from "../../browser/ids.ts";
import { base64 } from "../../model/attachments.ts";
import { messageProblem, sendMessage, sendTest, type OutgoingMessage } from "../../channels/channel-send.ts";
import type { Ask, ReportedAccount } from "../../channels/channels.ts";
import { Checkbox, Field } from "../common/fields.tsx";
import { useFocus } from "../common/hooks.ts";
import { t } from "../../words/words.ts";

interface FormProps {
  readonly account: ReportedAccount;
  readonly ask: Ask;
  readonly done: () => void;
}

/** Sends a text, files or both to a chat, without an agent, and shows the result. */
export function SendForm(props: FormProps & { most: number }): VNode {
  const { account, done } = props;
  const form = useRef<HTMLFormElement>(null);
  const { status, send, renew } = useSending(props);
  useFocus(form);
  return (
    <form
      ref={form}
      tabIndex={-1}
      class="channel-form"
      aria-label={t("Send a message by {label}", { label: account.label })}
      onInput={renew}
      onSubmit={(event) => (event.preventDefault(), void send(messageOf(event.currentTarget)))}
    >
      <Field name="to" label={t("To")} hint={t("The id of a person or group.")} />
      <label>
        {t("Text")}
        <textarea name="message" rows={3} />
      </label>
      <label>
        {t("Files")}
        <input name="files" type="file" multiple />
      </label>
      <Field name="address" label={t("Web address of a file (optional)")} />
      <Field name="replyTo" label={t("Id of the message to reply to (optional)")} />
      <Field name="thread" label={t("Thread (optional)")} hint={t("Or the topic of a forum.")} />
      <Checkbox name="silent" label={t("Without a notification sound")} />
      <Checkbox name="asVoice" label={t("As a voice message")} />
      <p class="channel-actions">
        <FormEnd label={t("Send")} status={status} done={done} />
      </p>
    </form>
  );
}

function useSending({ account, ask, most }: FormProps & { most: number }) {
  const [status, setStatus] = useState("");
  const busy = useRef(false);
  // A message keeps its key until its result is known, so a second Send after a lost answer does not send it twice.
  const key = useRef(newId());
  const renew = (): void => void (key.current = newId());
  const send = async (message: OutgoingMessage): Promise<void> => {
    if (busy.current) return;
    const problem = messageProblem(message, most);
    if (problem !== undefined) return setStatus(problem);
    busy.current = true;
    setStatus(t("Sending …"));
    try {
      setStatus(await sendMessage(ask, account, message, key.current));
      renew();
    } catch (error) {
      setStatus(error instanceof Error ? error.message : t("The request failed."));
    } finally {
      busy.current = false;
    }
  };
  return { status, send, renew };
}

function messageOf(form: HTMLFormElement): OutgoingMessage {
  const entries = new FormData(form);
  const valueOf = (name: string): string => {
    const value = entries.get(name);
    return typeof value === "string" ? value : "";
  };
  // A form without a chosen file contains an empty file without a name.
  const files = entries.getAll("files").filter((file) => file instanceof File && file.name !== "");
  return {
    to: valueOf("to").trim(),
    text: valueOf("message"),
    url: valueOf("address").trim(),
    replyTo: valueOf("replyTo").trim(),
    thread: valueOf("thread").trim(),
    silent: entries.has("silent"),
    asVoice: entries.has("asVoice"),
    files: files.flatMap((file) =>
      file instanceof File ? { name: file.name, size: file.size, read: () => base64(file) } : [],
    ),
  };
}

/** Sends a test message; without a chat, asks the platform for the account's name. */
export function TestForm(props: FormProps): VNode {
  const { account, ask, done } = props;
  const field = useRef<HTMLInputElement>(null);
  const [status, setStatus] = useState("");
  useFocus(field);
  const send = (): void => {
    const to = field.current?.value.trim() ?? "";
    setStatus(to === "" ? t("Asking the platform …") : t("Sending …"));
    sendTest(ask, account, to).then(setStatus, (error: unknown) =>
      setStatus(error instanceof Error ? error.message : t("The request failed.")),
    );
  };
  return (
    <form class="channel-test" onSubmit={(event) => (event.preventDefault(), send())}>
      <input
        ref={field}
        aria-label={t("Chat that gets the test message")}
        placeholder={t("chat id; if empty, only the connection is tested")}
      />
      <FormEnd label={t("Try")} status={status} done={done} />
    </form>
  );
}

/** The buttons and the result line of both forms. */
function FormEnd({ label, status, done }: { label: string; status: string; done: () => void }): VNode {
  return (
    <>
      <button type="submit" class="primary">
        {label}
      </button>
      <button type="button" class="quiet" onClick={done}>
        {t("Close")}
      </button>
      <span role="status">{status}</span>
    </>
  );
}
