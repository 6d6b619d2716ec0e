import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { clockTime } from "../../model/format.ts";
import { record, type Recorded, type OpenRecording } from "../../model/recording.ts";
import { useNow } from "../common/hooks.ts";
import { t } from "../../words/words.ts";
import { Icon } from "../common/icons.tsx";
import { InputLevel } from "./level.tsx";

interface RecorderProps {
  /** Most bytes of a recording. */
  readonly limit: number;
  readonly recorded: (file: File, durationMs: number) => void;
  readonly tell: (text: string) => void;
  /** Called when no recording goes on any more; `isMade`: one was made. */
  readonly ended: (isMade: boolean) => void;
}

/** Records a voice message from the moment it is shown. Enter on *Done* keeps it, Escape discards it. */
export function Recorder(props: RecorderProps): VNode {
  const { recording, cancel, finish } = useRecording(props);
  const beganAt = recording?.beganAt;
  const now = useNow(200, beganAt !== undefined);
  const done = useRef<HTMLButtonElement>(null);
  useEffect(() => done.current?.focus(), []);
  const pressed = (event: KeyboardEvent): void => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    cancel();
  };
  const passed = beganAt === undefined ? 0 : Math.max(0, now - beganAt);
  return (
    <div class="recorder" role="group" aria-label={t("Recording a voice message")} onKeyDown={pressed}>
      <button
        type="button"
        class="plain-icon"
        aria-label={t("Discard the recording")}
        title={t("Discard (Escape)")}
        onClick={cancel}
      >
        <Icon name="trash" />
      </button>
      <span class="recording" aria-hidden="true" />
      <span class="recorded-time" role="timer">
        {beganAt === undefined ? t("Waiting for the microphone…") : clockTime(passed)}
      </span>
      {recording !== undefined && <InputLevel recording={recording} />}
      <button ref={done} type="button" class="primary" onClick={finish}>
        {t("Done")}
      </button>
    </div>
  );
}

/** The recording, which begins at once and ends with the component. */
function useRecording({ limit, recorded, tell, ended }: RecorderProps) {
  const [recording, setRecording] = useState<OpenRecording>();
  const state = useRef<{ isOver: boolean; current?: OpenRecording }>({ isOver: false });
  // The recording belongs to the conversation in which it began.
  const keep = useRef(recorded);
  const cancel = (): void => {
    if (state.current.isOver) return;
    state.current.isOver = true;
    state.current.current?.cancel();
    ended(false);
  };
  const finish = (): void => {
    const { current, isOver } = state.current;
    if (isOver || current === undefined) return;
    state.current.isOver = true;
    current.stop().then(
      (made: Recorded | undefined) => {
        if (made === undefined) tell(t("Nothing was recorded."));
        else keep.current(made.file, made.durationMs);
        ended(made !== undefined);
      },
      (error: unknown) => (tell(error instanceof Error ? error.message : String(error)), ended(false)),
    );
  };
  useEffect(() => {
    record(limit, finish).then(
      (begun) => {
        if (state.current.isOver) return begun.cancel();
        state.current.current = begun;
        setRecording(begun);
      },
      (error: unknown) => {
        if (state.current.isOver) return;
        state.current.isOver = true;
        tell(error instanceof Error ? error.message : String(error));
        ended(false);
      },
    );
    return () => {
      if (state.current.isOver) return;
      state.current.isOver = true;
      state.current.current?.cancel();
    };
  }, []);
  return { recording, cancel, finish };
}
