import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { base64 } from "../../attachments.ts";
import { letterProblem, sendLetter, sendTest, type Letter } from "../../channels/channel-send.ts";
import type { Ask, ChannelAccount } from "../../channels/channels.ts";
import { Field, Tick } from "../fields.tsx";
import { useFocus } from "../hooks.ts";

interface FormProps {
  readonly account: ChannelAccount;
  readonly ask: Ask;
  readonly done: () => void;
}

/** Sends a text, files or both to a chat, without an agent, and shows the result. */
export function SendForm(props: FormProps & { most: number }): VNode {
  const { account, done } = props;
  const form = useRef<HTMLFormElement>(null);
  const { told, send, renew } = useSending(props);
  useFocus(form);
  return (
    <form
      ref={form}
      tabIndex={-1}
      class="channel-form"
      aria-label={`Send a message by ${account.label}`}
      onInput={renew}
      onSubmit={(event) => (event.preventDefault(), void send(letterOf(event.currentTarget)))}
    >
      <Field name="to" label="To" hint="The id of a person or group." />
      <label>
        Text
        <textarea name="message" rows={3} />
      </label>
      <label>
        Files
        <input name="files" type="file" multiple />
      </label>
      <Field name="address" label="Web address of a file (optional)" />
      <Field name="replyTo" label="Id of the message that it answers (optional)" />
      <Field name="thread" label="Thread (optional)" hint="Or the topic of a forum." />
      <Tick name="silent" label="Without a sound" />
      <Tick name="asVoice" label="As a voice message" />
      <p class="channel-actions">
        <Ending label="Send" told={told} done={done} />
      </p>
    </form>
  );
}

function useSending({ account, ask, most }: FormProps & { most: number }) {
  const [told, setTold] = useState("");
  const busy = useRef(false);
  // A message keeps its key until its result is known, so a second press of Send after a lost answer sends it only once.
  const key = useRef(crypto.randomUUID());
  const renew = (): void => void (key.current = crypto.randomUUID());
  const send = async (letter: Letter): Promise<void> => {
    if (busy.current) return;
    const problem = letterProblem(letter, most);
    if (problem !== undefined) return setTold(problem);
    busy.current = true;
    setTold("Sending …");
    try {
      setTold(await sendLetter(ask, account, letter, key.current));
      renew();
    } catch (error) {
      setTold(error instanceof Error ? error.message : "It failed.");
    } finally {
      busy.current = false;
    }
  };
  return { told, send, renew };
}

function letterOf(form: HTMLFormElement): Letter {
  const answers = new FormData(form);
  const word = (name: string): string => {
    const value = answers.get(name);
    return typeof value === "string" ? value : "";
  };
  // A form without a chosen file contains an empty file without a name.
  const files = answers.getAll("files").filter((file) => file instanceof File && file.name !== "");
  return {
    to: word("to").trim(),
    message: word("message"),
    address: word("address").trim(),
    replyTo: word("replyTo").trim(),
    thread: word("thread").trim(),
    silent: answers.has("silent"),
    asVoice: answers.has("asVoice"),
    files: files.flatMap((file) =>
      file instanceof File ? { name: file.name, size: file.size, read: () => base64(file) } : [],
    ),
  };
}

/** Sends a test message; without a chat, asks the platform for the account's name. */
export function TestForm(props: FormProps): VNode {
  const { account, ask, done } = props;
  const field = useRef<HTMLInputElement>(null);
  const [told, setTold] = useState("");
  useFocus(field);
  const send = (): void => {
    const to = field.current?.value.trim() ?? "";
    setTold(to === "" ? "Asking the platform …" : "Sending …");
    sendTest(ask, account, to).then(setTold, (error: unknown) =>
      setTold(error instanceof Error ? error.message : "It failed."),
    );
  };
  return (
    <form class="channel-test" onSubmit={(event) => (event.preventDefault(), send())}>
      <input ref={field} aria-label="Chat that gets the test message" placeholder="chat id; empty asks the platform" />
      <Ending label="Try" told={told} done={done} />
    </form>
  );
}

/** What both forms end with: the buttons, and what became of it. */
function Ending({ label, told, done }: { label: string; told: string; done: () => void }): VNode {
  return (
    <>
      <button type="submit" class="primary">
        {label}
      </button>
      <button type="button" class="quiet" onClick={done}>
        Close
      </button>
      <span role="status">{told}</span>
    </>
  );
}
