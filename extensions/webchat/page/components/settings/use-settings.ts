import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Chat } from "../../model/chat.ts";
import { readRights, type Rights } from "../../settings/rights.ts";
import type { Setting, SettingValue } from "../../settings/settings.ts";
import type { PageState } from "../../model/state.ts";
import { t } from "../../words/words.ts";

type Values = Readonly<Record<string, SettingValue>>;
type Problems = Readonly<Record<string, string>>;

/** The settings of the open session, with the changes of a person. */
export interface EditedSettings {
  /** Settings of the session; undefined until they are read. */
  readonly settings: Readonly<Record<string, Setting>> | undefined;
  /** Rights of a turn in the session; undefined until they are read. */
  readonly rights: Rights | undefined;
  /** Why the settings could not be read. */
  readonly problem: string | undefined;
  /** Values that are being stored, by the names of their settings. */
  readonly pending: Values;
  /** Why the gateway refused values, by the names of their settings. */
  readonly refusals: Problems;
  readonly change: (name: string, value: SettingValue) => void;
}

/** The settings of the session, read again whenever a session or the gateway's state changes, whatever the cause. */
export function useSettings(state: PageState, chat: Chat): EditedSettings {
  const { sessionKey, sessions, status } = state;
  const [settings, setSettings] = useState<EditedSettings["settings"]>();
  const [rights, setRights] = useState<Rights>();
  const [problem, setProblem] = useState<string>();
  const [pending, setPending] = useState<Values>({});
  const [refusals, setRefusals] = useState<Problems>({});
  const reads = useRef(0);
  const read = useCallback(async (): Promise<void> => {
    const own = (reads.current += 1);
    try {
      const answer = await chat.ask("sessions.describe", { key: sessionKey });
      if (own !== reads.current) return;
      setSettings(answer.settings);
      setRights(readRights(answer));
      setProblem(undefined);
    } catch (error) {
      if (own === reads.current) setProblem(textOf(error));
    }
  }, [chat, sessionKey]);
  useEffect(() => void read(), [read, sessions, status]);
  const store = async (name: string, value: SettingValue): Promise<void> => {
    setRefusals((before) => without(before, name));
    setPending((before) => ({ ...before, [name]: value }));
    try {
      await chat.ask("sessions.patch", { key: sessionKey, [name]: value });
      await read();
    } catch (error) {
      setRefusals((before) => ({ ...before, [name]: textOf(error) }));
    }
    setPending((before) => without(before, name));
  };
  return { settings, rights, problem, pending, refusals, change: (name, value) => void store(name, value) };
}

function without<T>(values: Readonly<Record<string, T>>, name: string): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(values).filter(([key]) => key !== name));
}

/** Where the gateway says which parameter is wrong, which the field shows already. */
const PARAMETER = /^invalid sessions\.patch params: \w+: /;

const textOf = (error: unknown): string =>
  error instanceof Error ? error.message.replace(PARAMETER, "") : t("The gateway gave no reason.");
