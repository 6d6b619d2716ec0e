import { outliveReader, type Io } from "../../io.ts";

export interface RunFlags {
  readonly port?: number;
  readonly bind?: string;
  readonly token?: string;
  readonly force?: boolean;
  readonly verbose?: boolean;
}

/** Runs the gateway until it is stopped. */
export async function gatewayRun(_io: Io, flags: RunFlags): Promise<number> {
  outliveReader();
  const { runGateway } = await import("../../../gateway/lifecycle/run.ts");
  const { port, bind, token, force, verbose } = flags;
  return runGateway({
    ...(port !== undefined && { port }),
    ...(bind !== undefined && { bind }),
    ...(token !== undefined && { token }),
    ...(force !== undefined && { force }),
    ...(verbose !== undefined && { verbose }),
  });
}
