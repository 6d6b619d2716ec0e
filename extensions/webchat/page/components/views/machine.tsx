import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { size } from "../../model/format.ts";
import { ListRow, RowList, useAnswer, ViewFrame, type ViewProps } from "./view-parts.tsx";

/** A disk with less room than this share soon takes no writes. */
const LITTLE = 0.05;

interface MachineProps {
  readonly view: ViewProps;
  readonly status: Answers["status"];
}

/** The process and the machine, with shares of what there is. */
export function MachineRows({ view, status }: MachineProps): VNode {
  const read = useAnswer(view, { method: "system.info", changedBy: ["tick", "health"] });
  const info = read.answer;
  return (
    <ViewFrame problems={[read.problem]} isRead={info !== undefined}>
      <RowList title="Process and machine">{info ? [...processRows(status, info), ...machineRows(info)] : []}</RowList>
    </ViewFrame>
  );
}

type Info = Answers["system.info"];

function processRows({ pid }: Answers["status"], { processMemory, eventLoop, nodeVersion }: Info): readonly VNode[] {
  const { rssBytes, heapUsedBytes, heapTotalBytes } = processMemory;
  const { degraded, delayP99Ms, utilization } = eventLoop;
  return [
    <ListRow
      key="memory"
      title="Memory of the gateway"
      facts={[`${size(rssBytes)} resident`, `heap ${size(heapUsedBytes)} of ${size(heapTotalBytes)}`]}
    />,
    <ListRow
      key="busy"
      title="How busy it is"
      facts={[
        utilization === undefined ? undefined : `busy for ${percent(utilization)} of the time`,
        delayP99Ms === undefined ? undefined : `99 of 100 events wait less than ${Math.ceil(delayP99Ms)} ms`,
        `process ${pid ?? ""}, Node ${nodeVersion}`,
      ]}
      error={degraded ? "It is too busy: answers may come late." : undefined}
    />,
  ];
}

function machineRows(info: Info): readonly VNode[] {
  const { machineName, osLabel, cpuCount, loadAverage, memoryTotalBytes, memoryFreeBytes } = info;
  const { diskPath, diskTotalBytes, diskAvailableBytes } = info;
  const [load = 0] = loadAverage;
  const taken = memoryTotalBytes - memoryFreeBytes;
  return [
    <ListRow
      key="machine"
      title={machineName}
      facts={[osLabel, `${cpuCount} ${cpuCount === 1 ? "processor" : "processors"}`, `load ${load.toFixed(1)}`]}
    />,
    <ListRow key="ram" title="Memory of the machine" facts={[`${size(taken)} of ${size(memoryTotalBytes)} taken`]}>
      <progress aria-label="Memory of the machine that is taken" max={memoryTotalBytes} value={taken} />
    </ListRow>,
    ...(diskTotalBytes === undefined || diskAvailableBytes === undefined
      ? []
      : [
          <ListRow
            key="disk"
            title="Disk of the state"
            facts={[`${size(diskAvailableBytes)} of ${size(diskTotalBytes)} free`, diskPath]}
            error={
              diskAvailableBytes < diskTotalBytes * LITTLE
                ? "Little room is left. On a full disk no message is taken: make room."
                : undefined
            }
          >
            <progress
              aria-label="Disk of the state that is taken"
              max={diskTotalBytes}
              value={diskTotalBytes - diskAvailableBytes}
            />
          </ListRow>,
        ]),
  ];
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** What becomes more while the gateway runs, the largest first, each with its bound. */
export function GrowthRows({ view }: { readonly view: ViewProps }): VNode {
  const read = useAnswer(view, { method: "system.growth" });
  const rows = (read.answer?.rows ?? []).filter(({ bytes, isBeyond }) => isBeyond || (bytes ?? 0) > 0);
  return (
    <ViewFrame problems={[read.problem]} isRead={read.answer !== undefined}>
      <RowList title="What grows" empty="Nothing has grown yet.">
        {rows
          .toSorted((one, other) => (other.bytes ?? 0) - (one.bytes ?? 0))
          .map(({ name, path, bytes, atLeast, bound, keys, isBeyond, fix }) => (
            <ListRow
              key={`${name}:${path}`}
              title={`${name.charAt(0).toUpperCase()}${name.slice(1)}`}
              facts={[
                bytes === null ? "not counted" : `${atLeast === true ? "at least " : ""}${size(bytes)}`,
                bound === null ? undefined : `bound: ${bound}`,
                keys[0],
                path,
              ]}
              error={isBeyond ? `${bound === null ? "It has no bound." : "It is beyond its bound."} ${fix}` : undefined}
            />
          ))}
      </RowList>
    </ViewFrame>
  );
}
