import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { OpenRecording } from "../../model/recording.ts";
import { t } from "../../words/words.ts";
import { Icon } from "../common/icons.tsx";

/** A quieter level is that of a microphone that is switched off. */
const SILENCE = 0.003;
const STEP_MS = 100;
/** So often in a row nothing is heard before the person is told: five seconds, which is longer than a pause in speech. */
const SILENT_STEPS = 50;
/** The level in decibels at which the meter is empty. */
const LEAST_DB = -50;

/** How loud a recording is, and a sentence when no sound arrives. Nothing where the browser cannot measure it. */
export function InputLevel({ recording }: { readonly recording: OpenRecording }): VNode | null {
  const heard = useHeard(recording);
  if (heard === undefined) return null;
  const percent = Math.round(100 * share(heard.level));
  return (
    <>
      <div
        class="level"
        role="meter"
        aria-label={t("Input level")}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
      >
        <i style={{ width: `${percent}%` }} />
      </div>
      <span class="level-still">
        {heard.sound === "arrives" && (
          <>
            <Icon name="sound" /> {t("Sound arrives")}
          </>
        )}
      </span>
      <p class="no-sound" role="status">
        {heard.sound === "none" && t("No sound arrives. Is the right microphone chosen?")}
      </p>
    </>
  );
}

/** The part of the meter that a level fills: as loud as people hear it. */
const share = (level: number): number =>
  Math.min(1, Math.max(0, 1 - (20 * Math.log10(Math.max(level, 1e-9))) / LEAST_DB));

interface Heard {
  readonly level: number;
  /** What came in the last seconds. */
  readonly sound: "unknown" | "arrives" | "none";
}

function useHeard(recording: OpenRecording): Heard | undefined {
  const [heard, setHeard] = useState<Heard>();
  useEffect(() => {
    let sound: Heard["sound"] = "unknown";
    let silent = 0;
    const listen = (): void => {
      const level = recording.level();
      if (level === undefined) return setHeard(undefined);
      silent = level > SILENCE ? 0 : silent + 1;
      if (silent === 0) sound = "arrives";
      else if (silent >= SILENT_STEPS) sound = "none";
      setHeard({ level, sound });
    };
    const timer = setInterval(listen, STEP_MS);
    return () => clearInterval(timer);
  }, [recording]);
  return heard;
}
